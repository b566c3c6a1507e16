/* See loss.h. */
#include "model/loss.h"

#include "graph/attrs.h"
#include "model/layers.h"

#include <string.h>

/* --- choosing --- */

static const data_field *find_field(const model_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (strcmp(r->fields[i].name, name) == 0)
            return &r->fields[i];
    return NULL;
}

static const char *usual_label(const model_request *r, const model_loss *l)
{
    static const char answer[] = "answer_span";
    bool is_answer = strcmp(l->kind, "span") == 0 && !find_field(r, "label") && find_field(r, answer);
    return is_answer ? answer : "label";
}

static status find_labels(const model_request *r, arena *a, model_loss *l, error *err)
{
    const json_t *names = config_json(r->model, "labels");
    size_t n = names ? json_array_size(names) : 1;
    if (n < 1 || n > (strcmp(l->kind, "span") == 0 ? 2 : 1))
        return FAIL(err, E_CONFIG, "%s.labels: %zu fields, the loss %s takes %s",
                    config_path(r->model), n, l->kind,
                    strcmp(l->kind, "span") == 0 ? "1 or 2" : "1");
    for (size_t i = 0; i < n; i++) {
        const char *name = names ? json_string_value(json_array_get(names, i)) : usual_label(r, l);
        l->label[i] = find_field(r, name);
        if (!l->label[i] && r->mode != MODEL_PREDICT)
            return FAIL(err, E_CONFIG,
                        "%s: the data have no field '%s' for the loss %s; they have %s",
                        config_path(r->model), name, l->kind, model_field_names(r, a));
    }
    l->n_labels = l->label[0] ? n : 0;
    return OK;
}

static status wants_label(const model_request *r, const model_loss *l, bool fits, const char *what,
                          error *err)
{
    if (fits)
        return OK;
    return FAIL(err, E_CONFIG, "%s: the loss %s takes %s, but the field '%s' is not that",
                config_path(r->model), l->kind, what, l->label[0]->name);
}

static bool is_span(const model_loss *l)
{
    for (size_t i = 0; i < l->n_labels; i++) {
        const data_field *f = l->label[i];
        bool is_pair = f->rank == 1 && f->dim[0] == 2;
        if (f->dtype != DT_I64 || (l->n_labels == 1 ? !is_pair : f->rank != 0))
            return false;
    }
    return true;
}

status loss_choose(const model_request *r, arena *a, model_loss *ret, error *err)
{
    model_loss l = {
        .kind = config_str(r->model, "loss"),
        .ignore_index = config_int(r->model, "ignore_index"),
        .label_smoothing = config_f64(r->model, "label_smoothing"),
        .class_weights = config_json(r->model, "class_weights"),
    };
    bool has_classes = strcmp(l.kind, "cross_entropy") == 0;
    if ((l.label_smoothing > 0 || l.class_weights) && !has_classes)
        return FAIL(err, E_CONFIG, "%s.%s: the loss %s has none; it goes with cross_entropy", config_path(r->model),
                    l.class_weights ? "class_weights" : "label_smoothing", l.kind);
    if (strcmp(l.kind, "output") != 0)
        TRY(find_labels(r, a, &l, err));
    const data_field *label = l.label[0];
    if (label && strcmp(l.kind, "cross_entropy") == 0) {
        TRY(wants_label(r, &l, label->dtype == DT_I64 && label->classes > 0,
                        "int64 labels with classes", err));
        l.features = label->classes;
    } else if (strcmp(l.kind, "span") == 0) {
        TRY(wants_label(r, &l, is_span(&l), "one int64 field of two positions, or two of one each",
                        err));
        l.features = 2;
    } else if (!label) {
        l.features = r->scores;
    } else {
        bool is_binary = strcmp(l.kind, "binary_cross_entropy") == 0;
        bool fits = label->dtype == DT_F32 ||
                    (is_binary && label->dtype == DT_I64 && label->classes == 2);
        TRY(wants_label(r, &l, fits,
                        is_binary ? "float32 labels, or int64 labels of two classes"
                                  : "float32 labels",
                        err));
        l.features = data_field_elements(label);
    }
    *ret = l;
    return OK;
}

/* --- building --- */

static const graph_shape *shape_of(const net *n, graph_val v)
{
    return &graph_value_at(n->g, v)->shape;
}

/* `wanted` says in words what would be right, `remedy` what else may help. */
static status misfit(const net *n, graph_val scores, graph_val labels, const char *wanted,
                     const char *remedy, error *err)
{
    return FAIL(
        err, E_CONFIG, "%s: the last layer '%s' gives %s, but the loss %s needs %s for labels %s%s",
        config_path(n->request->model), graph_value_at(n->g, scores)->name,
        graph_shape_text(shape_of(n, scores), (char[SHAPE_TEXT]){0}, SHAPE_TEXT), n->loss->kind,
        wanted, graph_shape_text(shape_of(n, labels), (char[SHAPE_TEXT]){0}, SHAPE_TEXT), remedy);
}

/* How many labels [N,d...] have the largest of the scores [N,C,d...], and how many count. */
static status count_right(net *n, const graph_val in[2], const accuracy_attr *attr, error *err)
{
    static const char *const names[] = {"accuracy.right", "accuracy.counted"};
    graph_val out[2];
    TRY(graph_add(n->g, OP_ACCURACY, names[0], in, 2, attr, out, err));
    TRY(graph_rename(n->g, out[1], names[1], err));
    graph_keep(n->g, out[0]);
    graph_keep(n->g, out[1]);
    return OK;
}

static status two(net *n, graph_op op, graph_val a, graph_val b, const char *name, graph_val *ret, error *err)
{
    return graph_add_1(n->g, op, name, (graph_val[]){a, b}, 2, NULL, ret, err);
}

static status number(net *n, const char *name, float value, graph_val *ret, error *err)
{
    return graph_const(n->g, name, DT_F32, (graph_shape){.rank = 0}, &value, ret, err);
}

/* 1 where a label counts, 0 where it is ignored. */
static status counted_labels(net *n, graph_val is_ignored, graph_val *ret, error *err)
{
    graph_val v;
    TRY(graph_add_1(n->g, OP_NOT, NULL, &is_ignored, 1, NULL, &v, err));
    return graph_add_1(n->g, OP_CAST, NULL, &v, 1, &(cast_attr){.to = DT_F32}, ret, err);
}

/* What each label that counts weighs; of one that does not, what the first class does. */
static status weights_of_labels(net *n, graph_val by, graph_val labels, graph_val is_ignored, graph_val *ret,
                                error *err)
{
    graph_val in[3] = {is_ignored, GRAPH_NONE, labels};
    TRY(graph_const(n->g, "loss.first", DT_I64, (graph_shape){.rank = 0}, &(int64_t){0}, &in[1], err));
    TRY(graph_add_1(n->g, OP_WHERE, NULL, in, 3, NULL, &in[1], err));
    in[0] = by;
    return graph_add_1(n->g, OP_GATHER, NULL, in, 2, &(gather_attr){.axis = 0}, ret, err);
}

/* Times the weights of their classes, axis 1. */
static status weigh_classes(net *n, graph_val by, graph_val *rows, error *err)
{
    const graph_shape *scores = shape_of(n, *rows);
    graph_shape along = {.rank = scores->rank - 1, .dim = {scores->dim[1]}};
    for (int32_t i = 1; i < along.rank; i++)
        along.dim[i] = 1;
    TRY(net_reshape(n, by, along, &by, err));
    return two(n, OP_MUL, *rows, by, NULL, rows, err);
}

/* The sum of all classes' log probabilities, as a mean over the labels that count; by the weights of classes, if
 * there are some. */
static status mean_of_all_classes(net *n, graph_val scores, graph_val labels, graph_val by, graph_val *ret,
                                  error *err)
{
    const reduce_attr classes = {.axes = {1}, .n_axes = 1, .drop_dims = true}, all = {.drop_dims = true};
    bool weighs = by != GRAPH_NONE;
    graph_val ignored, is_ignored, rows, counted, weighed, least;
    TRY(graph_add_1(n->g, OP_LOG_SOFTMAX, NULL, &scores, 1, &(axis_attr){.axis = 1}, &rows, err));
    if (weighs)
        TRY(weigh_classes(n, by, &rows, err));
    TRY(graph_add_1(n->g, OP_REDUCE_SUM, NULL, &rows, 1, &classes, &rows, err));
    TRY(graph_const(n->g, "loss.ignored", DT_I64, (graph_shape){.rank = 0}, &n->loss->ignore_index, &ignored, err));
    TRY(two(n, OP_EQUAL, labels, ignored, NULL, &is_ignored, err));
    TRY(counted_labels(n, is_ignored, &counted, err));
    TRY(two(n, OP_MUL, rows, counted, NULL, &rows, err));
    if (weighs) {
        TRY(weights_of_labels(n, by, labels, is_ignored, &weighed, err));
        TRY(two(n, OP_MUL, counted, weighed, NULL, &counted, err));
    }
    TRY(graph_add_1(n->g, OP_REDUCE_SUM, NULL, &rows, 1, &all, &rows, err));
    TRY(graph_add_1(n->g, OP_REDUCE_SUM, NULL, &counted, 1, &all, &counted, err));
    /* where none counts the sum is 0 */
    TRY(number(n, "loss.least", weighs ? 1e-30f : 1.0f, &least, err));
    TRY(two(n, OP_MAX, counted, least, NULL, &counted, err));
    return two(n, OP_DIV, rows, counted, NULL, ret, err);
}

/* A share of the loss is the mean over all classes, of which there are dim[1] of the scores: as PyTorch. */
static status smoothed(net *n, const graph_val in[3], graph_val mean, graph_val *ret, error *err)
{
    double share = n->loss->label_smoothing, classes = (double)shape_of(n, in[0])->dim[1];
    graph_val kept, spread, factor;
    TRY(mean_of_all_classes(n, in[0], in[1], in[2], &spread, err));
    TRY(number(n, "loss.kept", (float)(1.0 - share), &factor, err));
    TRY(two(n, OP_MUL, mean, factor, NULL, &kept, err));
    TRY(number(n, "loss.spread", (float)(-share / classes), &factor, err));
    TRY(two(n, OP_MUL, spread, factor, NULL, &spread, err));
    return two(n, OP_ADD, kept, spread, "loss", ret, err);
}

static status class_weights(net *n, int64_t classes, graph_val *ret, error *err)
{
    const json_t *list = n->loss->class_weights;
    float *of_class = arena_alloc(graph_arena(n->g), (size_t)classes * sizeof *of_class);
    if ((int64_t)json_array_size(list) != classes)
        return FAIL(err, E_CONFIG, "%s.class_weights: got %zu; expected one for each of %lld classes",
                    config_path(n->request->model), json_array_size(list), (long long)classes);
    for (int64_t i = 0; i < classes; i++)
        of_class[i] = (float)json_number_value(json_array_get(list, (size_t)i));
    return graph_const(n->g, "loss.class_weights", DT_F32, (graph_shape){.rank = 1, .dim = {classes}}, of_class, ret,
                       err);
}

/* The mean cross entropy of scores [N,C,d...] and labels [N,d...], and how many are right. */
static status class_loss(net *n, graph_val scores, graph_val labels, graph_val *ret, error *err)
{
    int64_t ignored = n->loss->ignore_index;
    bool smooths = n->loss->label_smoothing > 0;
    graph_val in[3] = {scores, labels, GRAPH_NONE};
    int32_t n_in = 2;
    TRY(count_right(n, in, &(accuracy_attr){.has_ignore_index = true, .ignore_index = ignored},
                    err));
    if (n->loss->class_weights)
        TRY(class_weights(n, shape_of(n, scores)->dim[1], &in[n_in++], err));
    sce_attr mean = {.reduction = SCE_MEAN, .has_ignore_index = true, .ignore_index = ignored};
    TRY(graph_add_1(n->g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, smooths ? NULL : "loss", in, n_in, &mean, ret, err));
    return smooths ? smoothed(n, in, *ret, ret, err) : OK;
}

/* Do the scores have the labels' axes, and the classes as this one between or behind them? */
static bool has_classes_at(const graph_shape *scores, const graph_shape *labels, int64_t classes,
                           int32_t axis)
{
    if (scores->rank != labels->rank + 1 || scores->dim[axis] != classes)
        return false;
    for (int32_t i = 0; i < labels->rank; i++)
        if (scores->dim[i < axis ? i : i + 1] != labels->dim[i])
            return false;
    return true;
}

/* What helps where only the number of classes differs; "" where more does. */
static const char *remedy(const net *n, const graph_shape *scores, const graph_shape *labels)
{
    int64_t classes = n->loss->features;
    int64_t given = scores->rank == labels->rank + 1 ? scores->dim[labels->rank] : 0;
    bool is_file = strcmp(config_str(n->request->model, "type"), "onnx") == 0;
    if (is_file && scores->rank == 0)
        return "; model.loss: output takes an output that is a loss as it is";
    if (!given || !has_classes_at(scores, labels, given, labels->rank))
        return "";
    if (given > classes)
        return arena_printf(graph_arena(n->g),
                            "; if these data lack the highest classes, dataset_reader.classes: %lld says "
                            "how many there are",
                            (long long)given);
    return is_file ? "; model.replace_head makes another last layer" : "";
}

static status cross_entropy(net *n, const net_outputs *o, const graph_val *label, graph_val *ret,
                            error *err)
{
    graph_shape scores = *shape_of(n, o->at[0]), labels = *shape_of(n, label[0]);
    int64_t classes = n->loss->features;
    graph_val in[2] = {o->at[0], label[0]};
    if (has_classes_at(&scores, &labels, classes, labels.rank)) {
        if (labels.rank > 1) {
            graph_shape rows = {.rank = 1, .dim = {graph_shape_elements(&labels)}};
            TRY(net_reshape(n, in[1], rows, &in[1], err));
            rows = (graph_shape){.rank = 2, .dim = {rows.dim[0], classes}};
            TRY(net_reshape(n, in[0], rows, &in[0], err));
        }
    } else if (!has_classes_at(&scores, &labels, classes, 1)) {
        graph_shape right = labels;
        right.dim[right.rank++] = classes;
        return misfit(n, in[0], in[1], graph_shape_text(&right, (char[SHAPE_TEXT]){0}, SHAPE_TEXT),
                      remedy(n, &scores, &labels), err);
    }
    return class_loss(n, in[0], in[1], ret, err);
}

/* Both positions at once: the classes are the positions, axis 1. */
static status span(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    graph_val scores[2] = {o->at[0], o->at[1]}, labels[2] = {label[0], label[1]};
    int64_t batch = n->request->batch_size;
    if (o->n >= 2) {
        for (int i = 0; i < 2; i++) {
            const graph_shape *s = shape_of(n, o->at[i]);
            if (s->rank != 2)
                return misfit(n, o->at[i], label[0], "[batch, positions]", "", err);
            graph_shape column = {.rank = 3, .dim = {s->dim[0], s->dim[1], 1}};
            TRY(net_reshape(n, o->at[i], column, &scores[i], err));
        }
        TRY(graph_add_1(n->g, OP_CONCAT, NULL, scores, 2, &(axis_attr){.axis = 2}, &scores[0],
                        err));
    }
    const graph_shape *s = shape_of(n, scores[0]);
    if (s->rank != 3 || s->dim[0] != batch || s->dim[2] != 2)
        return misfit(n, scores[0], label[0], "[batch, positions, 2]", "", err);
    if (n->loss->n_labels == 2) {
        graph_shape column = {.rank = 2, .dim = {batch, 1}};
        for (int i = 0; i < 2; i++)
            TRY(net_reshape(n, label[i], column, &labels[i], err));
        TRY(graph_add_1(n->g, OP_CONCAT, NULL, labels, 2, &(axis_attr){.axis = 1}, &labels[0],
                        err));
    }
    return class_loss(n, scores[0], labels[0], ret, err);
}

/* Predictions and labels of one shape: the labels', whose ones may be missing. */
static status match(net *n, graph_val *prediction, graph_val label, error *err)
{
    graph_shape have = *shape_of(n, *prediction), want = *shape_of(n, label);
    if (graph_shape_equal(&have, &want))
        return OK;
    if (graph_shape_elements(&have) != graph_shape_elements(&want) || have.dim[0] != want.dim[0])
        return misfit(n, *prediction, label, "one number for each label", "", err);
    return net_reshape(n, *prediction, want, prediction, err);
}

static status mean_of(net *n, graph_val v, graph_val *ret, error *err)
{
    return graph_add_1(n->g, OP_REDUCE_MEAN, "loss", &v, 1, &(reduce_attr){.drop_dims = true}, ret,
                       err);
}

static status mean_squared_error(net *n, const net_outputs *o, const graph_val *label,
                                 graph_val *ret, error *err)
{
    graph_val in[2] = {o->at[0], label[0]}, square[2];
    TRY(match(n, &in[0], in[1], err));
    TRY(graph_add_1(n->g, OP_SUB, NULL, in, 2, NULL, &square[0], err));
    square[1] = square[0];
    TRY(graph_add_1(n->g, OP_MUL, NULL, square, 2, NULL, &square[0], err));
    return mean_of(n, square[0], ret, err);
}

/* What went into a Sigmoid that stands at the end. */
static graph_val logits_of(const net *n, graph_val v)
{
    int32_t def = graph_value_at(n->g, v)->def;
    if (def == GRAPH_NONE || graph_node_at(n->g, def)->op != OP_SIGMOID)
        return v;
    return graph_node_at(n->g, def)->in[0];
}

/* Labels that are classes become numbers, and it is counted how many have the larger of (0, x). */
static status binary_labels(net *n, graph_val pair, graph_val *label, error *err)
{
    graph_val classes = *label, in[2] = {pair};
    graph_shape rows = {.rank = 1, .dim = {shape_of(n, pair)->dim[0]}};
    TRY(net_reshape(n, classes, rows, &in[1], err));
    TRY(count_right(n, in, &(accuracy_attr){.has_ignore_index = false}, err));
    return graph_add_1(n->g, OP_CAST, NULL, &classes, 1, &(cast_attr){.to = DT_F32}, label, err);
}

/*
 * -y log s(x) - (1 - y) log s(-x) = log(1 + e^x) - x y, and log(1 + e^x) is what a log-softmax of
 * (0, x) takes off the 0: stable for any x.
 */
static status binary_cross_entropy(net *n, const net_outputs *o, const graph_val *label,
                                   graph_val *ret, error *err)
{
    graph_val in[2] = {logits_of(n, o->at[0]), label[0]}, pair[2], sides[2];
    TRY(match(n, &in[0], in[1], err));
    int64_t rows = graph_shape_elements(shape_of(n, in[0]));
    graph_shape column = {.rank = 2, .dim = {rows, 1}}, flat_row = {.rank = 1, .dim = {rows}};
    const slice_attr negative = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    const void *zeros = arena_alloc(graph_arena(n->g), (size_t)rows * sizeof(float));
    TRY(graph_const(n->g, "loss.zero", DT_F32, column, zeros, &pair[0], err));
    TRY(net_reshape(n, in[0], column, &pair[1], err));
    TRY(graph_add_1(n->g, OP_CONCAT, NULL, pair, 2, &(axis_attr){.axis = 1}, &pair[0], err));
    if (graph_value_at(n->g, in[1])->dtype == DT_I64)
        TRY(binary_labels(n, pair[0], &in[1], err));
    TRY(graph_add_1(n->g, OP_LOG_SOFTMAX, NULL, pair, 1, &(axis_attr){.axis = 1}, &pair[0], err));
    TRY(graph_add_1(n->g, OP_SLICE, NULL, pair, 1, &negative, &pair[0], err));
    TRY(net_reshape(n, pair[0], flat_row, &sides[1], err));
    TRY(graph_add_1(n->g, OP_MUL, NULL, in, 2, NULL, &sides[0], err));
    TRY(net_reshape(n, sides[0], flat_row, &sides[0], err));
    /* -(x y + log s(-x)) */
    TRY(graph_add_1(n->g, OP_ADD, NULL, sides, 2, NULL, &sides[0], err));
    TRY(graph_const(n->g, "loss.sign", DT_F32, (graph_shape){.rank = 0}, &(float){-1.0f}, &sides[1],
                    err));
    TRY(graph_add_1(n->g, OP_MUL, NULL, sides, 2, NULL, &sides[0], err));
    return mean_of(n, sides[0], ret, err);
}

static status own_output(net *n, const net_outputs *o, const graph_val *label, graph_val *ret,
                         error *err)
{
    (void)label;
    if (o->loss == GRAPH_NONE)
        return FAIL(err, E_CONFIG, "%s.loss: 'output', but the model makes no loss itself",
                    config_path(n->request->model));
    *ret = o->loss;
    return graph_rename(n->g, o->loss, "loss", err);
}

typedef status add_fn(net *n, const net_outputs *o, const graph_val *label, graph_val *ret,
                      error *err);

static const struct {
    const char *kind;
    add_fn *add;
} losses[] = {
    {"cross_entropy", cross_entropy},
    {"binary_cross_entropy", binary_cross_entropy},
    {"mean_squared_error", mean_squared_error},
    {"span", span},
    {"output", own_output},
};

status loss_add(net *n, const net_outputs *o, graph_val *ret, error *err)
{
    graph_val label[MODEL_LABELS] = {GRAPH_NONE, GRAPH_NONE};
    for (size_t i = 0; i < n->loss->n_labels; i++)
        TRY(net_field(n, n->loss->label[i], &label[i], err));
    for (size_t i = 0; i < COUNT_OF(losses); i++) {
        if (strcmp(n->loss->kind, losses[i].kind) != 0)
            continue;
        TRY(losses[i].add(n, o, label, ret, err));
        graph_keep(n->g, *ret);
        return OK;
    }
    BUG("loss '%s' is an option without a function", n->loss->kind);
}
