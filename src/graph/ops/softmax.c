/* Softmax and LogSoftmax along one axis; their gradients need the output only. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"
#include "graph/schema.h"

static const attr_field fields[] = {
    ATTR_FIELD(axis_attr, axis, "axis", ATTR_AXIS, -1),
    {0},
};

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    graph_op backward = n.op == OP_SOFTMAX ? OP_SOFTMAX_BWD : OP_LOG_SOFTMAX_BWD;
    return emit_2(g, backward, dout[0], n.out[0], n.attr, &ret_din[0], err);
}

GRAPH_OP(SOFTMAX, softmax, "Softmax", ATTRIBUTES(axis_attr, fields), .infer = rule_unary,
         .grad = grad);
GRAPH_OP(LOG_SOFTMAX, log_softmax, "LogSoftmax", ATTRIBUTES(axis_attr, fields), .infer = rule_unary,
         .grad = grad);
GRAPH_OP(SOFTMAX_BWD, softmax_bwd, "SoftmaxBwd", ATTRIBUTES(axis_attr, fields),
         .infer = rule_unary_bwd);
GRAPH_OP(LOG_SOFTMAX_BWD, log_softmax_bwd, "LogSoftmaxBwd", ATTRIBUTES(axis_attr, fields),
         .infer = rule_unary_bwd);
