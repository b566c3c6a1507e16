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

/* clang-format off */
#define ROW(ID, name_, onnx, rule, gradient)                                                       \
    const graph_op_info graph_op_##name_ = {                                                       \
        OP_ROW(ID), .name = onnx, .attr_bytes = sizeof(axis_attr), .fields = fields,               \
        .infer = rule, .grad = gradient,                                                           \
    };

ROW(SOFTMAX, softmax, "Softmax", rule_unary, grad)
ROW(LOG_SOFTMAX, log_softmax, "LogSoftmax", rule_unary, grad)
ROW(SOFTMAX_BWD, softmax_bwd, "SoftmaxBwd", rule_unary_bwd, NULL)
ROW(LOG_SOFTMAX_BWD, log_softmax_bwd, "LogSoftmaxBwd", rule_unary_bwd, NULL)
/* clang-format on */
