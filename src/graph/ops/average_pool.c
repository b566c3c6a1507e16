/* AveragePool, and the gradient it shares with GlobalAveragePool. */
#include "graph/ops/emit.h"
#include "graph/ops/pool.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    TRY(pool_shape(n, rule_shape(g, n, 0), &ret_shape[0], err));
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    pool_attr a = *(const pool_attr *)n.attr;
    a.x = emit_shape_of(g, n.in[0]);
    return emit_1(g, OP_AVERAGE_POOL_BWD, dout[0], &a, &ret_din[0], err);
}

const graph_op_info graph_op_average_pool = {
    OP_ROW(AVERAGE_POOL), .name = "AveragePool", .attr_bytes = sizeof(pool_attr),
    .infer = infer,       .grad = grad,
};

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const pool_attr *a = n->attr;
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    TRY(pool_shape(n, &a->x, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

const graph_op_info graph_op_average_pool_bwd = {
    OP_ROW(AVERAGE_POOL_BWD),
    .name = "AveragePoolBwd",
    .attr_bytes = sizeof(pool_attr),
    .infer = infer_bwd,
};
