/* Accuracy: counts the labels that have the largest score. Nothing flows back through it. */
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_OURS(accuracy_attr, has_ignore_index, ATTR_BOOL, 0),
    ATTR_FIELD(accuracy_attr, ignore_index, "ignore_index", ATTR_INT, 0),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *scores = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    if (scores->rank < 2)
        return rule_fail(n, err, "the scores %s must be [batch,classes] and maybe more axes",
                         SHAPE(scores));
    if (scores->dim[1] == 0)
        return rule_fail(n, err, "the scores %s are of no class", SHAPE(scores));
    graph_shape labels = {.rank = scores->rank - 1, .dim = {scores->dim[0]}};
    for (int32_t i = 1; i < labels.rank; i++)
        labels.dim[i] = scores->dim[i + 1];
    if (rule_type(g, n, 1) != DT_I64)
        return rule_fail(n, err, "the labels are %s, must be int64",
                         dtype_name(rule_type(g, n, 1)));
    TRY(rule_expect(g, n, 1, "the tensor of labels", &labels, err));
    ret_shape[0] = ret_shape[1] = (graph_shape){.rank = 0};
    ret_dtype[0] = ret_dtype[1] = DT_I64;
    return OK;
}

GRAPH_OP(ACCURACY, accuracy, "Accuracy", ATTRIBUTES(accuracy_attr, fields), .infer = infer);
