/* LpPool: the p-norm of every window. */
#include "graph/ops/emit.h"
#include "graph/ops/pool.h"

#include <inttypes.h>

enum { MOST_P = 64 };

static status check_p(const graph_node *n, error *err)
{
    pool_attr *a = (pool_attr *)n->attr;
    a->p = a->p ? a->p : 2;
    if (a->p < 1 || a->p > MOST_P)
        return rule_fail(n, err, "p is %" PRId64 ", must be within 1 .. %d", a->p, MOST_P);
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    TRY(check_p(n, err));
    TRY(pool_shape(n, rule_shape(g, n, 0), &ret_shape[0], err));
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    graph_val out;
    TRY(graph_add(g, OP_LP_POOL_BWD, NULL, (const graph_val[]){dout[0], n.in[0], n.out[0]}, 3,
                  n.attr, &out, err));
    ret_din[0] = out;
    return OK;
}

const graph_op_info graph_op_lp_pool = {
    OP_ROW(LP_POOL), .name = "LpPool", .attr_bytes = sizeof(pool_attr),
    .infer = infer,  .grad = grad,
};

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const graph_shape *x = rule_shape(g, n, 1);
    graph_shape y;
    TRY(rule_float(g, n, 0, err));
    TRY(check_p(n, err));
    TRY(pool_shape(n, x, &y, err));
    TRY(rule_expect(g, n, 0, "the gradient", &y, err));
    TRY(rule_expect(g, n, 2, "the pooled value", &y, err));
    ret_shape[0] = *x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

const graph_op_info graph_op_lp_pool_bwd = {
    OP_ROW(LP_POOL_BWD),
    .name = "LpPoolBwd",
    .attr_bytes = sizeof(pool_attr),
    .infer = infer_bwd,
};
