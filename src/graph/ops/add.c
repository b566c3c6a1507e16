/* Add with broadcasting. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_shape a = emit_shape_of(g, n.in[0]), b = emit_shape_of(g, n.in[1]);
    if (want_din[0])
        TRY(emit_sum_to(g, dout[0], &a, &ret_din[0], err));
    if (want_din[1])
        TRY(emit_sum_to(g, dout[0], &b, &ret_din[1], err));
    return OK;
}

const graph_op_info graph_op_add = {
    OP_ROW(ADD),
    .name = "Add",
    .infer = rule_binary,
    .grad = grad,
};
