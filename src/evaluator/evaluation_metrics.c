/* See evaluation_metrics.h. */
#include "evaluator/evaluation_metrics.h"

#include "common/base/alloc.h"
#include "evaluator/arc_rows.h"
#include "evaluator/wide_rows.h"
#include "metric/best_span.h"
#include "metric/settings.h"
#include "metric/squad.h"
#include "model/loss.h"
#include "model/prediction.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

struct evaluation_metrics {
    arena *a;
    const dataset *data;
    metric_settings *settings;
    evaluation_details details;
    metric_options *options; /* [n] listed, then those of the details */
    size_t n, n_listed;
    prediction says;
    const char *label;     /* the field */
    bool has_classes;      /* labels are int64 */
    int64_t class_stride;
    int32_t row_axis;       /* of scores, along which batches may be shorter than the longest; 0: none */
    int64_t row;            /* how long that is in the longest */
    metric_source source;
    metric_list *list;
    metric_answer *answers; /* of a batch; NULL: nobody asks */
    wide_rows wide;         /* of a batch that is shorter */
    arc_rows arcs;          /* of PREDICTION_ARCS */
    size_t answers_cap;
};

/* What asks for metrics, for messages. */
static const char *asked_by(const evaluation_metrics *m)
{
    return m->n_listed ? metric_settings_key(m->settings) : "details of the evaluation";
}

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

static void describe(evaluation_metrics *m, const dataset *d, const graph_shape *scores, const model_loss *loss)
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

static void describe_arcs(evaluation_metrics *m, const dataset *d, const graph *g, const model_loss *loss)
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

static status find_source(evaluation_metrics *m, const dataset *d, const model_request *r, const graph *g,
                          error *err)
{
    model_loss loss;
    TRY(loss_choose(r, m->a, &loss, err));
    if (loss.n_labels != 1 && strcmp(loss.kind, "dependencies") != 0)
        return FAIL(err, E_CONFIG,
                    "%s: the loss %s compares no scores with one field of labels, which metrics are of",
                    asked_by(m), loss.kind);
    if (loss.has_probabilities)
        return FAIL(err, E_CONFIG, "%s: the field '%s' has probabilities of classes; metrics are of labels that are "
                    "classes, accuracy apart",
                    asked_by(m), loss.label[0]->name);
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
                    asked_by(m));
    describe(m, d, scores, &loss);
    return OK;
}

/* --- life --- */

static status open_list(evaluation_metrics *m, metric_list **ret, error *err)
{
    return metrics_open(m->options, m->n, &m->source, ret, err);
}

/* What is listed fitted when the job trained, so of a job's own figures it is the details that do not. */
static status open_all(evaluation_metrics *m, const metric_options *listed, error *err)
{
    m->options = arena_alloc(m->a, (m->n_listed + DETAILS) * sizeof *m->options);
    if (m->n_listed)
        memcpy(m->options, listed, m->n_listed * sizeof *listed);
    m->n = m->n_listed + details_options(&m->details, &m->source, m->options + m->n_listed);
    status st = open_list(m, &m->list, err);
    if (st != OK && m->n == m->n_listed)
        error_prepend(err, "%s", asked_by(m));
    return st;
}

status evaluation_metrics_open(const config *c, const dataset *d, const model_request *request, const graph *g,
                               const evaluation_details *details, evaluation_metrics **ret, error *err)
{
    *ret = NULL;
    evaluation_metrics *m = xcalloc(1, sizeof *m);
    m->a = arena_create();
    m->data = d;
    m->details = *details;
    m->settings = metric_settings_create(c);
    const metric_options *listed = metric_settings_options(m->settings, &m->n_listed);
    if (m->n_listed == 0 && !details_any(details)) {
        evaluation_metrics_close(&m);
        return OK;
    }
    status st = find_source(m, d, request, g, err);
    if (st == OK)
        st = open_all(m, listed, err);
    if (st == OK)
        *ret = m;
    else
        evaluation_metrics_close(&m);
    return st;
}

void evaluation_metrics_close(evaluation_metrics **m)
{
    if (!m || !*m)
        return;
    metrics_close(&(*m)->list);
    free((*m)->answers);
    wide_rows_fini(&(*m)->wide);
    arc_rows_fini(&(*m)->arcs);
    metric_settings_destroy(&(*m)->settings);
    arena_destroy(&(*m)->a);
    free(*m);
    *m = NULL;
}

status evaluation_metrics_keep(const evaluation_metrics *m, graph *g, error *err)
{
    graph_val scores = graph_find(g, m->says.name);
    if (graph_value_at(g, scores)->dtype != DT_F32)
        return FAIL(err, E_CONFIG, "%s: the model's '%s' is not float32", asked_by(m),
                    m->says.name);
    graph_keep(g, scores);
    if (m->says.tags)
        graph_keep(g, graph_find(g, m->says.tags));
    return OK;
}

status evaluation_metrics_merge(evaluation_metrics *m, const char *bytes, size_t n, error *err)
{
    metric_list *other = NULL;
    status st = open_list(m, &other, err);
    if (st == OK)
        st = metrics_load(other, bytes, n, err);
    if (st == OK)
        st = metrics_merge(m->list, other, err);
    metrics_close(&other);
    return st;
}

metric_list *evaluation_metrics_list(const evaluation_metrics *m)
{
    return m->list;
}

json_t *evaluation_metrics_details(const evaluation_metrics *m, metric_figures *figures)
{
    return details_any(&m->details) ? details_take(&m->details, &m->source, m->data, figures) : NULL;
}

/* --- batches --- */

static const void *field_of(const data_batch *batch, const char *name)
{
    for (size_t i = 0; i < batch->n_fields; i++)
        if (strcmp(batch->fields[i].name, name) == 0)
            return batch->data[i];
    BUG("the data have no field '%s'", name);
}

/* What stands at the scores' best positions of an example, and what it is worth. */
static status judge(const evaluation_metrics *m, int64_t example, const float *scores, metric_answer *ret, error *err)
{
    dataset_answer a;
    squad_score worth;
    best_span best = best_span_of(scores, scores + 1, m->source.classes, m->class_stride);
    TRY(dataset_answer_read(m->data, example, best.first, best.last, &a, err));
    status st = squad_score_of(a.text, a.gold, a.n_gold, &worth, err);
    *ret = (metric_answer){.question = a.question, .window = a.window, .score = best.score, .has_gold = a.n_gold > 0};
    ret->exact = st == OK && worth.exact;
    ret->f1 = st == OK ? worth.f1 : 0.0;
    dataset_answer_fini(&a);
    return st;
}

static status judge_all(evaluation_metrics *m, const float *scores, const data_batch *batch, error *err)
{
    int64_t each = m->source.classes * m->source.labels;
    GROW(m->answers, m->answers_cap, (size_t)batch->slot.n);
    for (int64_t i = 0; i < batch->slot.n; i++)
        TRY(judge(m, batch->slot.first + i, scores + i * each, &m->answers[i], err));
    return OK;
}

/* In a batch that is padded to fewer positions, what lies behind them: of spans the score of positions where no answer
 * may be, of rows of labels those that do not count. */
static void widen(evaluation_metrics *m, const graph_shape *has, metric_batch *b)
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

static status add_arcs(evaluation_metrics *m, exec *e, size_t variant, const data_batch *batch, error *err)
{
    const graph_value *heads = NULL, *tags = NULL;
    const float *of_heads = exec_value(e, variant, m->says.name, &heads);
    const float *of_tags = exec_value(e, variant, m->says.tags, &tags);
    metric_batch b;
    arc_rows_take(&m->arcs, batch, heads, of_heads, tags, of_tags, &b);
    return metrics_add(m->list, &b, err);
}

status evaluation_metrics_add(evaluation_metrics *m, exec *e, size_t variant, const data_batch *batch, error *err)
{
    if (m->says.kind == PREDICTION_ARCS)
        return add_arcs(m, e, variant, batch, err);
    const void *labels = field_of(batch, m->label);
    const graph_value *value = NULL;
    const float *scores = exec_value(e, variant, m->says.name, &value);
    metric_batch b = {.first = batch->slot.first,
                      .examples = batch->slot.n,
                      .scores = scores,
                      .class_stride = m->class_stride,
                      .labels = m->has_classes ? labels : NULL,
                      .targets = m->has_classes ? NULL : labels};
    widen(m, &value->shape, &b);
    if (metrics_want_answers(m->list))
        TRY(judge_all(m, b.scores, batch, err));
    b.answers = m->answers;
    return metrics_add(m->list, &b, err);
}
