/* GlobalAveragePool: an AveragePool whose window is the whole plane; so is its gradient. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    if (x->rank < 3 || x->rank > 2 + SPATIAL)
        return rule_fail(n, err, "the input %s must be [batch,channels] and 1 to 3 spatial axes",
                         SHAPE(x));
    for (int32_t i = 2; i < x->rank; i++)
        if (x->dim[i] == 0)
            return rule_fail(n, err, "the planes of the input %s have no elements", SHAPE(x));
    ret_shape[0] = (graph_shape){.rank = x->rank, .dim = {x->dim[0], x->dim[1], 1, 1, 1}};
    for (int32_t i = x->rank; i < GRAPH_RANK; i++)
        ret_shape[0].dim[i] = 0;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    pool_attr a = {.x = emit_shape_of(g, n.in[0])};
    for (int32_t i = 0; i < a.x.rank - 2; i++)
        a.kernel[i] = a.x.dim[2 + i];
    return emit_1(g, OP_AVERAGE_POOL_BWD, dout[0], &a, &ret_din[0], err);
}

const graph_op_info graph_op_global_average_pool = {
    OP_ROW(GLOBAL_AVERAGE_POOL),
    .name = "GlobalAveragePool",
    .infer = infer,
    .grad = grad,
};
