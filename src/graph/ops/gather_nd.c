/* GatherND: slices of x, each named by the last axis of the indices. */
#include "graph/ops/index.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    ret_dtype[0] = rule_type(g, n, 0);
    return index_nd(g, n, &ret_shape[0], err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    return index_grad_gather(g, node, OP_SCATTER_ND, dout, ret_din, err);
}

const graph_op_info graph_op_gather_nd = {
    OP_ROW(GATHER_ND), .name = "GatherND", .attr_bytes = sizeof(index_attr),
    .infer = infer,    .grad = grad,
};
