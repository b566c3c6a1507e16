/*
 * ScatterND: as ScatterElements with slices, each named by the last axis of the indices. Its
 * batch_dims, which ONNX does not have, are what makes it undo a GatherND.
 */
#include "graph/ops/index.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    return index_infer_scatter(g, n, index_nd, ret_shape, ret_dtype, err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    return index_grad_scatter(g, node, OP_GATHER_ND, dout, want_din, ret_din, err);
}

const graph_op_info graph_op_scatter_nd = {
    OP_ROW(SCATTER_ND), .name = "ScatterND", .attr_bytes = sizeof(index_attr),
    .infer = infer,     .grad = grad,
};
