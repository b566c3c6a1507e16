#include "model/loss/build.h"

#include <string.h>

/* Of a probability that is 1: a power's gradient may be infinite at 0. */
static const float LEAST_WRONG = 1e-8f;

const graph_shape *loss_shape_of(const net *n, graph_val v)
{
    return &graph_value_at(n->g, v)->shape;
}

status loss_two(net *n, graph_op op, graph_val a, graph_val b, graph_val *ret, error *err)
{
    return graph_add_1(n->g, op, NULL, (graph_val[]){a, b}, 2, NULL, ret, err);
}

status loss_by(net *n, graph_op op, graph_val v, double number, graph_val *ret, error *err)
{
    graph_val factor;
    float value = (float)number;
    TRY(graph_const(n->g, NULL, DT_F32, (graph_shape){.rank = 0}, &value, &factor, err));
    return loss_two(n, op, v, factor, ret, err);
}

status loss_one(net *n, graph_op op, graph_val v, graph_val *ret, error *err)
{
    return graph_add_1(n->g, op, NULL, &v, 1, NULL, ret, err);
}

status loss_sum(net *n, graph_val v, graph_val *ret, error *err)
{
    return graph_add_1(n->g, OP_REDUCE_SUM, NULL, &v, 1, &(reduce_attr){.drop_dims = true}, ret, err);
}

status loss_focus(net *n, graph_val wrong, graph_val *each, error *err)
{
    if (n->loss->focal_gamma == 0)
        return OK;
    TRY(loss_by(n, OP_MAX, wrong, (double)LEAST_WRONG, &wrong, err));
    TRY(loss_by(n, OP_POW, wrong, n->loss->focal_gamma, &wrong, err));
    return loss_two(n, OP_MUL, *each, wrong, each, err);
}

/* --- weights of classes --- */

status loss_class_weights(net *n, int64_t classes, graph_val *ret, error *err)
{
    const json_t *list = n->loss->class_weights;
    *ret = GRAPH_NONE;
    if (!list)
        return OK;
    float *of_class = arena_alloc(graph_arena(n->g), (size_t)classes * sizeof *of_class);
    if ((int64_t)json_array_size(list) != classes)
        return FAIL(err, E_CONFIG, "%s.class_weights: got %zu; expected one for each of %lld classes",
                    config_path(n->request->model), json_array_size(list), (long long)classes);
    for (int64_t i = 0; i < classes; i++)
        of_class[i] = (float)json_number_value(json_array_get(list, (size_t)i));
    return graph_const(n->g, "loss.class_weights", DT_F32, (graph_shape){.rank = 1, .dim = {classes}}, of_class, ret,
                       err);
}

status loss_sum_of_classes(net *n, graph_val log_probs, graph_val by, graph_val *ret, error *err)
{
    const reduce_attr classes = {.axes = {1}, .n_axes = 1, .drop_dims = true};
    if (by != GRAPH_NONE) {
        const graph_shape *s = loss_shape_of(n, log_probs);
        graph_shape along = {.rank = s->rank - 1, .dim = {s->dim[1]}};
        for (int32_t i = 1; i < along.rank; i++)
            along.dim[i] = 1;
        TRY(net_reshape(n, by, along, &by, err));
        TRY(loss_two(n, OP_MUL, log_probs, by, &log_probs, err));
    }
    return graph_add_1(n->g, OP_REDUCE_SUM, NULL, &log_probs, 1, &classes, ret, err);
}

/* --- the mean --- */

/* The weights of examples, of a shape that the labels' broadcasts. */
static status sample_weights(net *n, const graph_shape *labels, graph_val *ret, error *err)
{
    graph_shape along = {.rank = labels->rank};
    TRY(net_field(n, n->loss->sample_weights, ret, err));
    graph_shape has = *loss_shape_of(n, *ret);
    for (int32_t i = 0; i < along.rank; i++)
        along.dim[i] = i < has.rank ? has.dim[i] : 1;
    return net_reshape(n, *ret, along, ret, err);
}

static status weigh_examples(net *n, loss_terms *t, error *err)
{
    graph_val by;
    TRY(sample_weights(n, &t->labels, &by, err));
    TRY(net_reshape(n, t->each, t->labels, &t->each, err));
    TRY(loss_two(n, OP_MUL, t->each, by, &t->each, err));
    if (t->counts != GRAPH_NONE) {
        TRY(net_reshape(n, t->counts, t->labels, &t->counts, err));
        return loss_two(n, OP_MUL, t->counts, by, &t->counts, err);
    }
    int64_t labels = graph_shape_elements(&t->labels), of_weights = graph_shape_elements(loss_shape_of(n, by));
    return loss_by(n, OP_MUL, by, (double)labels / (double)of_weights, &t->counts, err);
}

status loss_mean(net *n, loss_terms t, graph_val *ret, error *err)
{
    const char *name = t.is_part ? NULL : "loss";
    if (n->loss->sample_weights)
        TRY(weigh_examples(n, &t, err));
    if (t.counts == GRAPH_NONE)
        return graph_add_1(n->g, OP_REDUCE_MEAN, name, &t.each, 1, &(reduce_attr){.drop_dims = true}, ret, err);
    TRY(loss_sum(n, t.each, &t.each, err));
    TRY(loss_sum(n, t.counts, &t.counts, err));
    TRY(loss_by(n, OP_MAX, t.counts, 1e-30, &t.counts, err));
    return graph_add_1(n->g, OP_DIV, name, (graph_val[]){t.each, t.counts}, 2, NULL, ret, err);
}

/* --- beside the loss --- */

status loss_count_right(net *n, graph_val scores, graph_val labels, const accuracy_attr *attr, error *err)
{
    static const char *const names[] = {"accuracy.right", "accuracy.counted"};
    graph_val out[2];
    TRY(graph_add(n->g, OP_ACCURACY, names[0], (graph_val[]){scores, labels}, 2, attr, out, err));
    TRY(graph_rename(n->g, out[1], names[1], err));
    graph_keep(n->g, out[0]);
    graph_keep(n->g, out[1]);
    return OK;
}

status loss_misfit(const net *n, graph_val scores, graph_val labels, const char *wanted, const char *remedy, error *err)
{
    return FAIL(err, E_CONFIG, "%s: the last layer '%s' gives %s, but the loss %s needs %s for labels %s%s",
                config_path(n->request->model), graph_value_at(n->g, scores)->name,
                graph_shape_text(loss_shape_of(n, scores), (char[SHAPE_TEXT]){0}, SHAPE_TEXT), n->loss->kind, wanted,
                graph_shape_text(loss_shape_of(n, labels), (char[SHAPE_TEXT]){0}, SHAPE_TEXT), remedy);
}

status loss_match(net *n, graph_val *prediction, graph_val label, error *err)
{
    graph_shape have = *loss_shape_of(n, *prediction), want = *loss_shape_of(n, label);
    if (graph_shape_equal(&have, &want))
        return OK;
    if (graph_shape_elements(&have) != graph_shape_elements(&want) || have.dim[0] != want.dim[0])
        return loss_misfit(n, *prediction, label, "one number for each label", "", err);
    return net_reshape(n, *prediction, want, prediction, err);
}
