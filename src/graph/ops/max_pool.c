/*
 * MaxPool. Its second output remembers which element won, in whatever form the backend likes; its
 * third is ONNX's Indices, for who asks for them.
 */
#include "graph/ops/emit.h"
#include "graph/ops/pool.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    TRY(pool_shape(n, rule_shape(g, n, 0), &ret_shape[0], err));
    ret_shape[1] = ret_shape[0];
    if (((const pool_attr *)n->attr)->indices)
        ret_shape[2] = ret_shape[0];
    ret_dtype[0] = rule_type(g, n, 0);
    ret_dtype[1] = DT_U8;
    ret_dtype[2] = DT_I64;
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    pool_attr a = *(const pool_attr *)n.attr;
    a.x = emit_shape_of(g, n.in[0]);
    return emit_2(g, OP_MAX_POOL_BWD, dout[0], n.out[1], &a, &ret_din[0], err);
}

const graph_op_info graph_op_max_pool = {
    OP_ROW(MAX_POOL), .name = "MaxPool", .attr_bytes = sizeof(pool_attr),
    .infer = infer,   .grad = grad,
};

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const pool_attr *a = n->attr;
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    TRY(pool_shape(n, &a->x, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    TRY(rule_expect(g, n, 1, "the workspace", &y, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

const graph_op_info graph_op_max_pool_bwd = {
    OP_ROW(MAX_POOL_BWD),
    .name = "MaxPoolBwd",
    .attr_bytes = sizeof(pool_attr),
    .infer = infer_bwd,
};
