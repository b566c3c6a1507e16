/*
 * SoftmaxCrossEntropyLoss: scores [N,C,d...], labels [N,d...], optional weights [C]. Its gradient
 * reads the scores again, and of their softmax only the largest score and the logarithm of the sum
 * of each row, outputs 1 and 2: with many classes nothing else of their size is kept, and the
 * gradient takes their place. ONNX's log-probabilities are a LogSoftmax beside.
 *
 * With log_probs the scores are logarithms of probabilities already (NegativeLogLikelihoodLoss).
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

static const attr_field fields[] = {
    ATTR_CHOICE(sce_attr, reduction, "reduction", "mean sum none", SCE_MEAN),
    ATTR_OURS(sce_attr, log_probs, ATTR_BOOL, 0),
    ATTR_OURS(sce_attr, has_ignore_index, ATTR_BOOL, 0),
    ATTR_FIELD(sce_attr, ignore_index, "ignore_index", ATTR_INT, 0),
    ATTR_MORE,
};

/* Checks labels and weights, at these inputs, against the scores. */
static status check_labels(const graph *g, const graph_node *n, const graph_shape *scores,
                           int32_t labels, int32_t weights, error *err)
{
    if (scores->rank < 2)
        return rule_fail(n, err, "the scores %s must be [batch,classes] and maybe more axes",
                         SHAPE(scores));
    dtype t = rule_type(g, n, labels);
    if (t != DT_I64 && t != DT_I32)
        return rule_fail(n, err, "the labels are %s, must be int64 or int32", dtype_name(t));
    graph_shape expected = label_shape(scores);
    if (scores->dim[1] == 0)
        return rule_fail(n, err, "the scores %s are of no class", SHAPE(scores));
    TRY(rule_expect(g, n, labels, "the tensor of labels", &expected, err));
    if (rule_has(n, weights))
        TRY(rule_expect(g, n, weights, "the tensor of class weights",
                        &(graph_shape){.rank = 1, .dim = {scores->dim[1]}}, err));
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
    TRY(check_labels(g, n, scores, 1, 2, err));
    ret_shape[0] = loss_shape(n, scores);
    if (!((const sce_attr *)n->attr)->log_probs)
        ret_shape[1] = ret_shape[2] = label_shape(scores);
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    if (d->n.n_in > 2 && d->wants[2])
        return FAIL(err, E_UNSUPPORTED, "no gradient for trained class weights");
    return emit_backward(d, err);
}

GRAPH_OP(SOFTMAX_CROSS_ENTROPY_LOSS, softmax_cross_entropy_loss, "SoftmaxCrossEntropyLoss",
         ATTRIBUTES(sce_attr, fields), .infer = infer, .grad = grad,
         READS(SOFTMAX_CROSS_ENTROPY_LOSS_BWD, X(0), DY(0), X(1), Y(1), Y(2), X(2)));

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const graph_shape *scores = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    TRY(check_labels(g, n, scores, 2, 5, err));
    graph_shape loss = loss_shape(n, scores), row = label_shape(scores);
    TRY(rule_expect(g, n, 1, "the gradient", &loss, err));
    for (int32_t i = 3; i < 5 && !((const sce_attr *)n->attr)->log_probs; i++) {
        if (!rule_has(n, i))
            return rule_fail(n, err, "the rows' largest score or sum is absent");
        TRY(rule_expect(g, n, i, "what is kept of the rows", &row, err));
    }
    ret_shape[0] = *scores;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(SOFTMAX_CROSS_ENTROPY_LOSS_BWD, softmax_cross_entropy_loss_bwd,
         "SoftmaxCrossEntropyLossBwd", ATTRIBUTES(sce_attr, fields), .infer = infer_bwd);
