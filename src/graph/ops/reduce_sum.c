/* ReduceSum over some axes or all. */
#include "graph/ops/reduce.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    return reduce_spread(g, node, dout[0], false, &ret_din[0], err);
}

const graph_op_info graph_op_reduce_sum = {
    OP_ROW(REDUCE_SUM),    .name = "ReduceSum", .attr_bytes = sizeof(reduce_attr),
    .infer = reduce_infer, .grad = grad,
};
