/*
 * SoftmaxCrossEntropyLoss: scores [N,C,d...], labels [N,d...], optional weights [C]. Output 1, the
 * log-probabilities, is what its gradient reads. A gradient that arrives through output 1 itself is
 * that of a LogSoftmax over the classes.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* Labels drop the class axis of the scores. */
static graph_shape label_shape(const graph_shape *scores)
{
    graph_shape s = {.rank = scores->rank - 1};
    for (int32_t i = 0, to = 0; i < scores->rank; i++) {
        if (i != 1)
            s.dim[to++] = scores->dim[i];
    }
    return s;
}

/* Checks labels and weights, at inputs `labels` and `labels` + 1, against the scores. */
static status check_labels(const graph *g, const graph_node *n, const graph_shape *scores,
                           int32_t labels, error *err)
{
    if (scores->rank < 2)
        return rule_fail(n, err, "the scores %s must be [batch,classes] and maybe more axes",
                         SHAPE(scores));
    dtype t = rule_type(g, n, labels);
    if (t != DT_I64 && t != DT_I32)
        return rule_fail(n, err, "the labels are %s, must be int64 or int32", dtype_name(t));
    graph_shape expected = label_shape(scores);
    TRY(rule_expect(g, n, labels, "the tensor of labels", &expected, err));
    if (rule_has(n, labels + 1))
        TRY(rule_expect(g, n, labels + 1, "the tensor of class weights",
                        &(graph_shape){.rank = 1, .dim = {scores->dim[1]}}, err));
    const sce_attr *a = n->attr;
    if (a->reduction != SCE_MEAN && a->reduction != SCE_SUM && a->reduction != SCE_NONE)
        return rule_fail(n, err, "reduction %d is none of mean, sum, none", (int)a->reduction);
    return OK;
}

static graph_shape loss_shape(const graph_node *n, const graph_shape *scores)
{
    const sce_attr *a = n->attr;
    return a->reduction == SCE_NONE ? label_shape(scores) : (graph_shape){.rank = 0};
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *scores = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    TRY(check_labels(g, n, scores, 1, err));
    ret_shape[0] = loss_shape(n, scores);
    if (!((const sce_attr *)n->attr)->log_probs)
        ret_shape[1] = *scores;
    ret_dtype[0] = ret_dtype[1] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    if (n.n_in > 2 && want_din[2])
        return FAIL(err, E_UNSUPPORTED, "no gradient for trained class weights");
    graph_val through_loss = GRAPH_NONE, through_log = GRAPH_NONE;
    if (dout[0] != GRAPH_NONE) {
        bool log_probs = ((const sce_attr *)n.attr)->log_probs;
        graph_val in[] = {dout[0], log_probs ? n.in[0] : n.out[1], n.in[1], n.in[2]};
        TRY(graph_add_1(g, OP_SOFTMAX_CROSS_ENTROPY_LOSS_BWD, NULL, in, 4, n.attr, &through_loss,
                        err));
        ret_din[0] = through_loss;
    }
    if (dout[1] != GRAPH_NONE) {
        TRY(emit_2(g, OP_LOG_SOFTMAX_BWD, dout[1], n.out[1], &(axis_attr){.axis = 1}, &through_log,
                   err));
        ret_din[0] = through_log;
    }
    if (through_loss != GRAPH_NONE && through_log != GRAPH_NONE)
        TRY(emit_2(g, OP_ADD, through_loss, through_log, NULL, &ret_din[0], err));
    return OK;
}

const graph_op_info graph_op_softmax_cross_entropy_loss = {
    OP_ROW(SOFTMAX_CROSS_ENTROPY_LOSS),
    .name = "SoftmaxCrossEntropyLoss",
    .attr_bytes = sizeof(sce_attr),
    .infer = infer,
    .grad = grad,
};

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const graph_shape *log_prob = rule_shape(g, n, 1);
    TRY(rule_float(g, n, 0, err));
    TRY(check_labels(g, n, log_prob, 2, err));
    graph_shape loss = loss_shape(n, log_prob);
    TRY(rule_expect(g, n, 0, "the gradient", &loss, err));
    ret_shape[0] = *log_prob;
    ret_dtype[0] = rule_type(g, n, 1);
    return OK;
}

const graph_op_info graph_op_softmax_cross_entropy_loss_bwd = {
    OP_ROW(SOFTMAX_CROSS_ENTROPY_LOSS_BWD),
    .name = "SoftmaxCrossEntropyLossBwd",
    .attr_bytes = sizeof(sce_attr),
    .infer = infer_bwd,
};
