/*
 * Cross entropy of scores and probabilities of classes, as PyTorch has it: of each label -(sum over classes of weight,
 * probability and the logarithm of the model's). The mean is over all labels, whatever their classes weigh.
 */
#include "model/loss/build.h"

/* The share of each class grows towards 1 / classes. */
static status smooth(net *n, graph_val *labels, int64_t classes, error *err)
{
    double share = n->loss->label_smoothing;
    if (share == 0)
        return OK;
    TRY(loss_by(n, OP_MUL, *labels, 1.0 - share, labels, err));
    return loss_by(n, OP_ADD, *labels, share / (double)classes, labels, err);
}

/* Right is who finds the most probable class, the first of several. */
static status count_right(net *n, graph_val scores, graph_val labels, error *err)
{
    graph_val most;
    const arg_attr classes = {.axis = 1, .drop_dims = true};
    TRY(graph_add_1(n->g, OP_ARG_MAX, NULL, &labels, 1, &classes, &most, err));
    return loss_count_right(n, scores, most, &(accuracy_attr){.has_ignore_index = false}, err);
}

status loss_of_probabilities(net *n, graph_val scores, graph_val labels, graph_shape batch, graph_val *ret, error *err)
{
    int64_t classes = loss_shape_of(n, scores)->dim[1];
    loss_terms t = {.counts = GRAPH_NONE, .labels = batch};
    graph_val by;
    TRY(count_right(n, scores, labels, err));
    TRY(loss_class_weights(n, classes, &by, err));
    TRY(smooth(n, &labels, classes, err));
    TRY(graph_add_1(n->g, OP_LOG_SOFTMAX, NULL, &scores, 1, &(axis_attr){.axis = 1}, &t.each, err));
    TRY(loss_two(n, OP_MUL, t.each, labels, &t.each, err));
    TRY(loss_sum_of_classes(n, t.each, by, &t.each, err));
    TRY(loss_by(n, OP_MUL, t.each, -1.0, &t.each, err));
    return loss_mean(n, t, ret, err);
}
