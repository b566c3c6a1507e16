#include "cli/use/prediction_line.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "metric/arcs.h"
#include "metric/best_span.h"
#include "model/arc_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- arrays, as nested lists --- */

/* JSON knows no infinities and no NaN. */
void prediction_line_number(buf *b, double x)
{
    if (isfinite(x))
        buf_addf(b, "%.9g", x);
    else
        buf_adds(b, "null");
}

static void add_element(buf *b, const evaluation_array *o, int64_t i)
{
    switch (o->dtype) {
    case DT_F32:
        prediction_line_number(b, (double)((const float *)o->data)[i]);
        break;
    case DT_I64:
        buf_addf(b, "%" PRId64, ((const int64_t *)o->data)[i]);
        break;
    case DT_I32:
        buf_addf(b, "%" PRId32, ((const int32_t *)o->data)[i]);
        break;
    case DT_BOOL:
        buf_adds(b, ((const unsigned char *)o->data)[i] ? "true" : "false");
        break;
    default:
        buf_addf(b, "%u", ((const unsigned char *)o->data)[i]);
    }
}

typedef void element_fn(buf *b, const evaluation_array *o, int64_t i);

/* The axes from `axis` on; *at is the next element. */
static void add_nested(buf *b, const evaluation_array *o, int32_t axis, element_fn *add,
                       int64_t *at)
{
    if (axis == o->shape.rank) {
        add(b, o, (*at)++);
        return;
    }
    buf_adds(b, "[");
    for (int64_t i = 0; i < o->shape.dim[axis]; i++) {
        buf_adds(b, i ? ", " : "");
        add_nested(b, o, axis + 1, add, at);
    }
    buf_adds(b, "]");
}

static int64_t elements_of_example(const evaluation_array *o)
{
    return graph_shape_elements(&o->shape) / o->shape.dim[0];
}

static void add_array(buf *b, const evaluation_array *o, const char *name, element_fn *add,
                      int64_t example)
{
    int64_t at = example * elements_of_example(o);
    buf_addf(b, ", \"%s\": ", name);
    add_nested(b, o, 1, add, &at);
}

/* --- labels --- */

static void add_text(buf *b, const char *utf8)
{
    json_t *quoted = json_string(utf8);
    char *text = json_dumps(quoted, JSON_ENCODE_ANY);
    buf_adds(b, text);
    free(text);
    json_decref(quoted);
}

static void add_label(buf *b, const dataset *data, int64_t label)
{
    buf word = BUF_INIT;
    if (dataset_label_word(data, label, &word))
        add_text(b, word.data);
    else
        buf_addf(b, "%" PRId64, label);
    buf_fini(&word);
}

/* Of n scores that stand `stride` apart. */
static int64_t largest(const float *scores, int64_t n, int64_t stride)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = scores[i * stride] > scores[best * stride] ? i : best;
    return best;
}

static int64_t stride_of(const graph_shape *s, int32_t axis)
{
    int64_t n = 1;
    while (++axis < s->rank)
        n *= s->dim[axis];
    return n;
}

/* Labels of all rows of scores, nested as the axes beside that of the classes, from `axis` on. */
static void prediction_line_add_labels(buf *b, const evaluation_predictions *a, const graph_shape *s,
                                       int32_t axis, const float *scores)
{
    int32_t classes = a->says.axis;
    axis += axis == classes;
    if (axis >= s->rank) {
        add_label(b, a->data, largest(scores, s->dim[classes], stride_of(s, classes)));
        return;
    }
    buf_adds(b, "[");
    for (int64_t i = 0; i < s->dim[axis]; i++) {
        buf_adds(b, i ? ", " : "");
        prediction_line_add_labels(b, a, s, axis + 1, scores + i * stride_of(s, axis));
    }
    buf_adds(b, "]");
}

static void add_softmax(buf *b, const float *scores, int64_t n, double temperature)
{
    double top = (double)scores[largest(scores, n, 1)], sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += exp(((double)scores[i] - top) / temperature);
    for (int64_t i = 0; i < n; i++) {
        buf_adds(b, i ? ", " : "");
        prediction_line_number(b, exp(((double)scores[i] - top) / temperature) / sum);
    }
}

/* Rows of words: these, and the label of each; null where it was cut off. False: they are no such rows. */
static bool add_tags(buf *b, const evaluation_predictions *a, const graph_shape *s, const float *scores, int64_t number)
{
    buf text = BUF_INIT, tags = BUF_INIT;
    int64_t place, n = 0;
    bool is_row = s->rank == 3 && a->says.axis == 2;
    for (; is_row && dataset_word(a->data, number, n, &text, &place); n++) {
        buf_addf(b, "%s", n ? ", " : ", \"words\": [");
        buf_adds(&tags, n ? ", " : ", \"tags\": [");
        add_text(b, text.data);
        if (place >= 0)
            add_label(&tags, a->data, largest(scores + place * s->dim[2], s->dim[2], 1));
        else
            buf_adds(&tags, "null");
        buf_clear(&text);
    }
    if (n)
        buf_addf(b, "]%s]", tags.data);
    buf_fini(&text);
    buf_fini(&tags);
    return n > 0;
}

static void add_classes(buf *b, const evaluation_predictions *a, const evaluation_array *o,
                        const float *scores, int64_t number, double temperature)
{
    if (add_tags(b, a, &o->shape, scores, number))
        return;
    buf_adds(b, ", \"label\": ");
    prediction_line_add_labels(b, a, &o->shape, 1, scores);
    if (o->shape.rank > 2)
        return;
    buf_adds(b, ", \"probs\": [");
    add_softmax(b, scores, o->shape.dim[1], temperature);
    buf_adds(b, "]");
}

/* --- yes or no --- */

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static void add_sigmoid(buf *b, const evaluation_array *o, int64_t i)
{
    prediction_line_number(b, sigmoid((double)((const float *)o->data)[i]));
}

static void add_if_positive(buf *b, const evaluation_array *o, int64_t i)
{
    buf_adds(b, ((const float *)o->data)[i] > 0.0f ? "1" : "0");
}

static void add_if_likely(buf *b, const evaluation_array *o, int64_t i)
{
    buf_adds(b, ((const float *)o->data)[i] > 0.5f ? "1" : "0");
}

/* Of classes that an example may have any number of: the words of those that it has. False: they have no words. */
static bool add_words(buf *b, const evaluation_predictions *a, const evaluation_array *o, int64_t example, float above)
{
    int64_t n = elements_of_example(o), said = 0;
    const float *x = (const float *)o->data + example * n;
    buf word = BUF_INIT;
    bool has_words = o->shape.rank == 2 && dataset_label_word(a->data, n - 1, &word);
    if (has_words)
        buf_adds(b, ", \"label\": [");
    for (int64_t i = 0; has_words && i < n; i++) {
        if (!(x[i] > above))
            continue;
        buf_adds(b, said++ ? ", " : "");
        add_label(b, a->data, i);
    }
    buf_adds(b, has_words ? "]" : "");
    buf_fini(&word);
    return has_words;
}

/* Of several logits. */
static void add_chances(buf *b, const evaluation_array *o, int64_t example, double temperature)
{
    int64_t n = elements_of_example(o);
    float *divided = xcalloc((size_t)n, sizeof *divided);
    evaluation_array one = *o;
    for (int64_t i = 0; i < n; i++)
        divided[i] = (float)((double)((const float *)o->data)[example * n + i] / temperature);
    one.data = divided;
    add_array(b, &one, "probs", add_sigmoid, 0);
    free(divided);
}

static void add_yes_or_no(buf *b, const evaluation_predictions *a, const evaluation_array *o,
                          int64_t example, double temperature)
{
    bool is_odds = a->says.kind == PREDICTION_ODDS;
    if (elements_of_example(o) > 1) {
        if (!add_words(b, a, o, example, is_odds ? 0.0f : 0.5f))
            add_array(b, o, "label", is_odds ? add_if_positive : add_if_likely, example);
        if (is_odds)
            add_chances(b, o, example, temperature);
        else
            add_array(b, o, "probs", add_element, example);
        return;
    }
    double x = (double)((const float *)o->data)[example];
    buf_adds(b, ", \"label\": ");
    add_label(b, a->data, is_odds ? x > 0.0 : x > 0.5);
    buf_adds(b, ", \"probs\": [");
    prediction_line_number(b, is_odds ? sigmoid(-x / temperature) : 1.0 - x);
    buf_adds(b, ", ");
    prediction_line_number(b, is_odds ? sigmoid(x / temperature) : x);
    buf_adds(b, "]");
}

/* --- spans --- */

/* Of scores of first positions and of last ones, which stand `stride` apart. */
static void add_best_span(buf *b, const float *first, const float *last, int64_t n, int64_t stride)
{
    best_span best = best_span_of(first, last, n, stride);
    buf_addf(b, ", \"best_span\": [%" PRId64 ", %" PRId64 "]", best.first, best.last);
}

static void add_span(buf *b, const evaluation_predictions *a, const evaluation_array *o,
                     const float *scores)
{
    int64_t positions = o->shape.dim[1];
    if (o->shape.rank == 3) {
        add_best_span(b, scores, scores + 1, positions, 2);
        return;
    }
    for (size_t i = 0; i < a->n_outputs; i++)
        if (&a->outputs[i] != o && graph_shape_equal(&a->outputs[i].shape, &o->shape)) {
            const float *last = a->outputs[i].data;
            add_best_span(b, scores, last + (scores - (const float *)o->data), positions, 1);
            return;
        }
}

/* --- dependency trees --- */

/* The number of the word whose first token stands at a place, from 1; the root's is 0. */
static int64_t word_at(const int64_t *place_of_words, int64_t n, int64_t head)
{
    int64_t i = 0;
    while (head > 0 && i < n && place_of_words[i] != head - 1)
        i++;
    return head > 0 ? i + 1 : 0;
}

/* One of each word, null where it was cut off. */
static void add_tree(buf *b, const evaluation_predictions *a, const int64_t *heads, const int64_t *tags, int64_t number)
{
    buf words = BUF_INIT, text = BUF_INIT, tag_words = BUF_INIT;
    int64_t *places = NULL, place, n = 0;
    size_t cap = 0;
    for (; dataset_word(a->data, number, n, &text, &place); n++) {
        GROW(places, cap, n + 1);
        places[n] = place;
        buf_adds(&words, n ? ", " : "");
        add_text(&words, text.data);
        buf_clear(&text);
    }
    buf_addf(b, ", \"words\": [%s], \"predicted_heads\": [", n ? words.data : "");
    for (int64_t i = 0; i < n; i++) {
        buf_adds(b, i ? ", " : "");
        buf_adds(&tag_words, i ? ", " : "");
        if (places[i] < 0) {
            buf_adds(b, "null");
            buf_adds(&tag_words, "null");
            continue;
        }
        buf_addf(b, "%" PRId64, word_at(places, n, heads[places[i]]));
        add_label(&tag_words, a->data, tags[places[i]]);
    }
    buf_addf(b, "], \"predicted_dependencies\": [%s]", n ? tag_words.data : "");
    free(places);
    buf_fini(&words);
    buf_fini(&text);
    buf_fini(&tag_words);
}

static const evaluation_array *output_of(const evaluation_predictions *a, const char *name)
{
    for (size_t i = 0; i < a->n_outputs; i++)
        if (strcmp(a->outputs[i].name, name) == 0)
            return &a->outputs[i];
    BUG("the model has no output '%s'", name);
}

/* The scores themselves are left out: they are as many as pairs of words and tags. */
static void add_arcs(buf *b, const evaluation_predictions *a, int64_t example, int64_t number)
{
    const evaluation_array *heads = output_of(a, a->says.name), *tags = output_of(a, a->says.tags);
    size_t places = (size_t)heads->shape.dim[1];
    const arc_scores s = {.heads = (const float *)heads->data + example * elements_of_example(heads),
                          .tags = (const float *)tags->data + example * elements_of_example(tags),
                          .tags_of_heads = tags->shape.rank == 4,
                          .places = heads->shape.dim[1],
                          .n_tags = tags->shape.dim[tags->shape.rank - 1]};
    unsigned char *is_word = xmalloc(places);
    int64_t *arcs = xcalloc(2 * places, sizeof *arcs);
    float *scores = xcalloc(places, sizeof *scores);
    arc_rows_words(a->data, number, s.places, is_word);
    arcs_decode(&s, is_word, arcs, arcs + places, scores);
    add_tree(b, a, arcs, arcs + places, number);
    free(is_word);
    free(arcs);
    free(scores);
}

/* --- lines --- */

/* What follows from the scores of an example. */
static void add_conclusion(buf *b, const evaluation_predictions *a, const evaluation_array *o,
                           int64_t example, int64_t number, double temperature)
{
    const float *scores = (const float *)o->data + example * elements_of_example(o);
    switch (a->says.kind) {
    case PREDICTION_CLASSES:
        add_classes(b, a, o, scores, number, temperature);
        break;
    case PREDICTION_ODDS:
    case PREDICTION_CHANCES:
        add_yes_or_no(b, a, o, example, temperature);
        break;
    case PREDICTION_SPAN:
        add_span(b, a, o, scores);
        break;
    case PREDICTION_ARCS: /* add_arcs */
    case PREDICTION_NUMBERS:
        break;
    }
}

void prediction_line_inputs(const evaluation_predictions *a, int64_t example, buf *b)
{
    buf inputs = BUF_INIT;
    for (size_t i = 0; i < a->n_inputs; i++)
        add_array(&inputs, &a->inputs[i], a->inputs[i].name, add_element, example);
    buf_addf(b, ", \"inputs\": {%s}", inputs.data + 2); /* without the first comma */
    buf_fini(&inputs);
}

static void add_name(buf *b, const dataset *data, int64_t number)
{
    buf name = BUF_INIT;
    if (dataset_example_name(data, number, &name)) {
        buf_adds(b, ", \"name\": ");
        add_text(b, name.data);
    }
    buf_fini(&name);
}

bool prediction_line_has_temperature(const evaluation_predictions *a)
{
    for (size_t i = 0; i < a->n_outputs; i++)
        if (strcmp(a->outputs[i].name, a->says.name) == 0)
            return a->says.kind == PREDICTION_ODDS ||
                   (a->says.kind == PREDICTION_CLASSES && a->outputs[i].shape.rank == 2);
    return false;
}

void prediction_line(const evaluation_predictions *a, int64_t example, int64_t number, const prediction_form *form,
                     buf *to)
{
    buf_addf(to, "{\"example\": %" PRId64, number);
    add_name(to, a->data, number);
    bool are_arcs = a->says.kind == PREDICTION_ARCS;
    if (are_arcs)
        add_arcs(to, a, example, number);
    for (size_t i = 0; i < a->n_outputs && !are_arcs; i++) {
        const evaluation_array *o = &a->outputs[i];
        if (strcmp(o->name, a->says.name) == 0 && o->dtype == DT_F32)
            add_conclusion(to, a, o, example, number, form->temperature > 0.0 ? form->temperature : 1.0);
        add_array(to, o, o->name, add_element, example);
    }
    if (form->with_inputs)
        prediction_line_inputs(a, example, to);
    buf_adds(to, "}\n");
}
