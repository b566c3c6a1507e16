/* Softmax and LogSoftmax along one axis; their gradients need the output only. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_axis(n, rule_shape(g, n, 0)->rank, &((axis_attr *)n->attr)->axis, err));
    return rule_unary(g, n, ret_shape, ret_dtype, err);
}

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    TRY(rule_axis(n, rule_shape(g, n, 0)->rank, &((axis_attr *)n->attr)->axis, err));
    return rule_unary_bwd(g, n, ret_shape, ret_dtype, err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    graph_op backward = n.op == OP_SOFTMAX ? OP_SOFTMAX_BWD : OP_LOG_SOFTMAX_BWD;
    return emit_2(g, backward, dout[0], n.out[0], n.attr, &ret_din[0], err);
}

const graph_op_info graph_op_softmax = {
    OP_ROW(SOFTMAX), .name = "Softmax", .attr_bytes = sizeof(axis_attr),
    .infer = infer,  .grad = grad,
};

const graph_op_info graph_op_softmax_bwd = {
    OP_ROW(SOFTMAX_BWD),
    .name = "SoftmaxBwd",
    .attr_bytes = sizeof(axis_attr),
    .infer = infer_bwd,
};

const graph_op_info graph_op_log_softmax = {
    OP_ROW(LOG_SOFTMAX), .name = "LogSoftmax", .attr_bytes = sizeof(axis_attr),
    .infer = infer,      .grad = grad,
};

const graph_op_info graph_op_log_softmax_bwd = {
    OP_ROW(LOG_SOFTMAX_BWD),
    .name = "LogSoftmaxBwd",
    .attr_bytes = sizeof(axis_attr),
    .infer = infer_bwd,
};
