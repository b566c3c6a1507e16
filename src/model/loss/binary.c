/*
 * Binary cross entropy of logits, each by itself:
 *
 *   -y log s(x) - (1 - y) log s(-x) = log(1 + e^x) - x y
 *
 * and log(1 + e^x) is what a log-softmax of (0, x) takes off the 0: stable for any x.
 */
#include "model/loss/build.h"

/* What went into a Sigmoid that stands at the end. */
static graph_val logits_of(const net *n, graph_val v)
{
    int32_t def = graph_value_at(n->g, v)->def;
    if (def == GRAPH_NONE || graph_node_at(n->g, def)->op != OP_SIGMOID)
        return v;
    return graph_node_at(n->g, def)->in[0];
}

/* The scores of two classes, rows of (0, x). */
static status pairs(net *n, graph_val logits, int64_t rows, graph_val *ret, error *err)
{
    graph_shape column = {.rank = 2, .dim = {rows, 1}};
    const void *zeros = arena_alloc(graph_arena(n->g), (size_t)rows * sizeof(float));
    graph_val pair[2];
    TRY(graph_const(n->g, "loss.zero", DT_F32, column, zeros, &pair[0], err));
    TRY(net_reshape(n, logits, column, &pair[1], err));
    return graph_add_1(n->g, OP_CONCAT, NULL, pair, 2, &(axis_attr){.axis = 1}, ret, err);
}

/* Labels that are classes become numbers, and it is counted how many have the larger of (0, x). */
static status binary_labels(net *n, graph_val pair, graph_val *label, error *err)
{
    graph_val classes = *label, in_rows;
    graph_shape rows = {.rank = 1, .dim = {loss_shape_of(n, pair)->dim[0]}};
    TRY(net_reshape(n, classes, rows, &in_rows, err));
    TRY(loss_count_right(n, pair, in_rows, &(accuracy_attr){.has_ignore_index = false}, err));
    return graph_add_1(n->g, OP_CAST, NULL, &classes, 1, &(cast_attr){.to = DT_F32}, label, err);
}

/* Of each row log s(-x) + x y, whose opposite is the loss. */
static status likelihoods(net *n, graph_val logits, graph_val label, graph_val pair, graph_val *ret, error *err)
{
    const slice_attr negative = {.n_axes = 1, .axes = {1}, .end = {1}, .step = {1}};
    graph_shape row = {.rank = 1, .dim = {loss_shape_of(n, pair)->dim[0]}};
    graph_val product, log_prob;
    TRY(graph_add_1(n->g, OP_LOG_SOFTMAX, NULL, &pair, 1, &(axis_attr){.axis = 1}, &pair, err));
    TRY(graph_add_1(n->g, OP_SLICE, NULL, &pair, 1, &negative, &log_prob, err));
    TRY(net_reshape(n, log_prob, row, &log_prob, err));
    TRY(loss_two(n, OP_MUL, logits, label, &product, err));
    TRY(net_reshape(n, product, row, &product, err));
    return loss_two(n, OP_ADD, product, log_prob, ret, err);
}

/* 1 less p y + (1 - p) (1 - y): the probability p that is not the label's. */
static status wrongness(net *n, graph_val logits, graph_val label, graph_shape shape, graph_val *ret, error *err)
{
    graph_val p, both, sum;
    TRY(loss_one(n, OP_SIGMOID, logits, &p, err));
    TRY(loss_two(n, OP_ADD, p, label, &sum, err));
    TRY(loss_two(n, OP_MUL, p, label, &both, err));
    TRY(loss_by(n, OP_MUL, both, 2.0, &both, err));
    TRY(loss_two(n, OP_SUB, sum, both, ret, err));
    return net_reshape(n, *ret, shape, ret, err);
}

/* Times alpha where the label is 1, 1 - alpha where it is 0. */
static status weigh_sides(net *n, graph_val label, graph_shape shape, graph_val *each, error *err)
{
    double alpha = n->loss->focal_alpha;
    graph_val weight;
    if (alpha < 0)
        return OK;
    TRY(loss_by(n, OP_MUL, label, 2.0 * alpha - 1.0, &weight, err));
    TRY(loss_by(n, OP_ADD, weight, 1.0 - alpha, &weight, err));
    TRY(net_reshape(n, weight, shape, &weight, err));
    return loss_two(n, OP_MUL, *each, weight, each, err);
}

status loss_binary_cross_entropy(net *n, const net_outputs *o, const graph_val *label, graph_val *ret, error *err)
{
    graph_val logits = logits_of(n, o->at[0]), labels = label[0], pair, wrong;
    loss_terms t = {.counts = GRAPH_NONE, .labels = *loss_shape_of(n, labels)};
    TRY(loss_match(n, &logits, labels, err));
    graph_shape row = {.rank = 1, .dim = {graph_shape_elements(loss_shape_of(n, logits))}};
    TRY(pairs(n, logits, row.dim[0], &pair, err));
    if (graph_value_at(n->g, labels)->dtype == DT_I64)
        TRY(binary_labels(n, pair, &labels, err));
    TRY(likelihoods(n, logits, labels, pair, &t.each, err));
    TRY(loss_by(n, OP_MUL, t.each, -1.0, &t.each, err));
    if (n->loss->focal_gamma > 0) {
        TRY(wrongness(n, logits, labels, row, &wrong, err));
        TRY(loss_focus(n, wrong, &t.each, err));
    }
    TRY(weigh_sides(n, labels, row, &t.each, err));
    return loss_mean(n, t, ret, err);
}
