/*
 * ScatterElements: a copy of the data into which single elements are put, or are combined with what
 * is there in the order of the indices. An element named twice without a reduction is the last one
 * (ONNX leaves it open); the gradient then counts both.
 */
#include "graph/ops/index.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    return index_infer_scatter(g, n, index_elements, ret_shape, ret_dtype, err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    return index_grad_scatter(g, node, OP_GATHER_ELEMENTS, dout, want_din, ret_din, err);
}

const graph_op_info graph_op_scatter_elements = {
    OP_ROW(SCATTER_ELEMENTS),
    .name = "ScatterElements",
    .attr_bytes = sizeof(index_attr),
    .infer = infer,
    .grad = grad,
};
