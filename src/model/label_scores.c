/* See label_scores.h. */
#include "model/label_scores.h"

#include "common/base/alloc.h"
#include "model/arc_rows.h"
#include "model/loss.h"
#include "model/wide_rows.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

struct label_scores {
    arena *a;
    const char *asked_by;
    prediction says;
    const char *outputs[LABEL_SCORES_OUTPUTS]; /* to be read; the second one NULL: there is none */
    const char *label;     /* the field */
    bool has_classes;      /* labels are int64 */
    int64_t class_stride;
    int32_t row_axis;      /* of scores, along which batches may be shorter than the longest; 0: none */
    int64_t row;           /* how long that is in the longest */
    metric_source source;
    wide_rows wide;        /* of a batch that is shorter */
    arc_rows arcs;         /* of PREDICTION_ARCS */
};

/* --- what the model and its loss give --- */

static int64_t product(const graph_shape *s, int32_t from, int32_t to)
{
    int64_t n = 1;
    for (int32_t i = from; i < to; i++)
        n *= s->dim[i];
    return n;
}

/* The words of classes, if they have any. */
static const char *const *words_of(const dataset *d, int64_t classes, arena *a)
{
    const char **words = arena_alloc(a, (size_t)(classes + 1) * sizeof *words);
    buf word = BUF_INIT;
    bool known = true;
    for (int64_t i = 0; i < classes && known; i++) {
        buf_clear(&word);
        known = dataset_label_word(d, i, &word);
        words[i] = known ? arena_strdup(a, word.data) : NULL;
    }
    buf_fini(&word);
    return known ? words : NULL;
}

static metric_input input_of(prediction_kind kind)
{
    switch (kind) {
    case PREDICTION_CLASSES:
    case PREDICTION_SPAN:
        return METRIC_CLASSES;
    case PREDICTION_ODDS:
    case PREDICTION_CHANCES:
        return METRIC_YES_NO;
    case PREDICTION_ARCS:
        return METRIC_ARCS;
    case PREDICTION_NUMBERS:
        return METRIC_NUMBERS;
    }
    return METRIC_NUMBERS;
}

/* The axis of classes; of a span these are the positions. */
static int32_t class_axis(const prediction *p)
{
    return p->kind == PREDICTION_SPAN ? 1 : p->axis;
}

static void describe(label_scores *m, const dataset *d, const graph_shape *scores, const model_loss *loss)
{
    m->source = (metric_source){.input = input_of(m->says.kind),
                                .is_odds = m->says.kind == PREDICTION_ODDS,
                                .has_ignore_index = m->has_classes,
                                .ignore_index = loss->ignore_index};
    int64_t each = product(scores, 1, scores->rank);
    if (m->source.input == METRIC_CLASSES) {
        int32_t axis = class_axis(&m->says);
        m->class_stride = product(scores, axis + 1, scores->rank);
        m->source.classes = scores->dim[axis];
        each /= scores->dim[axis];
        m->source.words = words_of(d, m->source.classes, m->a);
        m->source.is_span = m->says.kind == PREDICTION_SPAN;
        m->source.has_answers = m->source.is_span && dataset_asks(d);
    }
    m->source.labels = each;
    bool has_rows = m->source.is_span || loss->label[0]->varies;
    m->row_axis = !has_rows ? 0 : !m->source.is_span && m->says.axis == 1 ? 2 : 1;
    m->row = scores->dim[m->row_axis];
}

static void describe_arcs(label_scores *m, const dataset *d, const graph *g, const model_loss *loss)
{
    const graph_shape *heads = &graph_value_at(g, graph_find(g, m->says.name))->shape;
    arc_rows_open(d, loss, heads->dim[1], m->a, &m->arcs);
    m->source = (metric_source){.input = METRIC_ARCS,
                                .classes = loss->features,
                                .labels = heads->dim[1],
                                .has_ignore_index = true,
                                .ignore_index = loss->ignore_index,
                                .words = words_of(d, loss->features, m->a),
                                .parts_of_speech = m->arcs.pos_words,
                                .n_parts_of_speech = m->arcs.n_pos_words};
}

static status find_source(label_scores *m, const dataset *d, const model_request *r, const graph *g,
                          error *err)
{
    model_loss loss;
    TRY(loss_choose(r, m->a, &loss, err));
    if (loss.n_labels != 1 && strcmp(loss.kind, "dependencies") != 0)
        return FAIL(err, E_CONFIG,
                    "%s: the loss %s compares no scores with one field of labels, which metrics are of",
                    m->asked_by, loss.kind);
    if (loss.has_probabilities)
        return FAIL(err, E_CONFIG, "%s: the field '%s' has probabilities of classes; metrics are of labels that are "
                    "classes, accuracy apart",
                    m->asked_by, loss.label[0]->name);
    TRY(prediction_of(r, g, &m->says, err));
    if (m->says.kind == PREDICTION_ARCS) {
        describe_arcs(m, d, g, &loss);
        return OK;
    }
    m->label = loss.label[0]->name;
    m->has_classes = loss.label[0]->dtype == DT_I64;
    const graph_shape *scores = &graph_value_at(g, graph_find(g, m->says.name))->shape;
    bool is_pair = m->says.kind != PREDICTION_SPAN || scores->rank == 3;
    if (!is_pair)
        return FAIL(err, E_CONFIG, "%s: spans are judged where one output has the scores of both ends",
                    m->asked_by);
    describe(m, d, scores, &loss);
    return OK;
}

/* --- life --- */

/* In training their copies are what may be read. */
static void find_outputs(label_scores *m, const graph *g)
{
    bool has_copies = graph_find(g, PREDICTION_COPY) != GRAPH_NONE;
    m->outputs[0] = has_copies ? PREDICTION_COPY : m->says.name;
    m->outputs[1] = m->says.tags && has_copies ? PREDICTION_TAGS_COPY : m->says.tags;
    m->arcs.by_labels = has_copies;
}

status label_scores_open(const dataset *d, const model_request *request, const graph *g, const char *asked_by,
                         label_scores **ret, error *err)
{
    label_scores *m = xcalloc(1, sizeof *m);
    m->a = arena_create();
    m->asked_by = arena_strdup(m->a, asked_by);
    status st = find_source(m, d, request, g, err);
    if (st == OK) {
        find_outputs(m, g);
        *ret = m;
    } else {
        label_scores_close(&m);
    }
    return st;
}

void label_scores_close(label_scores **m)
{
    if (!m || !*m)
        return;
    wide_rows_fini(&(*m)->wide);
    arc_rows_fini(&(*m)->arcs);
    arena_destroy(&(*m)->a);
    free(*m);
    *m = NULL;
}

const metric_source *label_scores_source(const label_scores *m)
{
    return &m->source;
}

status label_scores_keep(const label_scores *m, graph *g, error *err)
{
    for (size_t i = 0; i < LABEL_SCORES_OUTPUTS && m->outputs[i]; i++) {
        graph_val scores = graph_find(g, m->outputs[i]);
        if (graph_value_at(g, scores)->dtype != DT_F32)
            return FAIL(err, E_CONFIG, "%s: the model's '%s' is not float32", m->asked_by, m->says.name);
        graph_keep(g, scores);
    }
    return OK;
}

const char *label_scores_output(const label_scores *m, size_t i)
{
    return m->outputs[i];
}

bool label_scores_reads(const label_scores *m, const char *field)
{
    if (m->says.kind != PREDICTION_ARCS)
        return strcmp(m->label, field) == 0;
    return strcmp(m->arcs.heads, field) == 0 || strcmp(m->arcs.tags, field) == 0 ||
           (m->arcs.parts_of_speech && strcmp(m->arcs.parts_of_speech, field) == 0);
}

/* --- batches --- */

static const void *field_of(const data_batch *batch, const char *name)
{
    for (size_t i = 0; i < batch->n_fields; i++)
        if (strcmp(batch->fields[i].name, name) == 0)
            return batch->data[i];
    BUG("the data have no field '%s'", name);
}

/* In a batch that is padded to fewer positions, what lies behind them: of spans the score of positions where no answer
 * may be, of rows of labels those that do not count. */
static void widen(label_scores *m, const graph_shape *has, metric_batch *b)
{
    int32_t axis = m->row_axis;
    if (axis == 0 || has->dim[axis] == m->row)
        return;
    const wide_rows_form scores = {product(has, 0, axis), has->dim[axis], m->row, product(has, axis + 1, has->rank)};
    const wide_rows_form labels = {b->examples, has->dim[axis], m->row, 1};
    b->scores = wide_rows_scores(&m->wide, &scores, b->scores, m->source.is_span ? -FLT_MAX : 0.0f);
    if (!m->source.is_span && b->labels)
        b->labels = wide_rows_labels(&m->wide, &labels, b->labels, m->source.ignore_index);
}

void label_scores_take(label_scores *m, const data_batch *batch, const label_scores_value *outputs, metric_batch *ret)
{
    if (m->says.kind == PREDICTION_ARCS) {
        arc_rows_take(&m->arcs, batch, outputs[0].value, outputs[0].data, outputs[1].value, outputs[1].data, ret);
        return;
    }
    const void *labels = field_of(batch, m->label);
    metric_batch b = {.first = batch->slot.first,
                      .examples = batch->slot.n,
                      .scores = outputs[0].data,
                      .class_stride = m->class_stride,
                      .labels = m->has_classes ? labels : NULL,
                      .targets = m->has_classes ? NULL : labels};
    widen(m, &outputs[0].value->shape, &b);
    *ret = b;
}
