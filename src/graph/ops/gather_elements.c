/* GatherElements: y[..., j, ...] = x[..., indices[..., j, ...], ...] along one axis. */
#include "graph/ops/index.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    ret_dtype[0] = rule_type(g, n, 0);
    return index_elements(g, n, &ret_shape[0], err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    return index_grad_gather(g, node, OP_SCATTER_ELEMENTS, dout, ret_din, err);
}

const graph_op_info graph_op_gather_elements = {
    OP_ROW(GATHER_ELEMENTS),
    .name = "GatherElements",
    .attr_bytes = sizeof(index_attr),
    .infer = infer,
    .grad = grad,
};
