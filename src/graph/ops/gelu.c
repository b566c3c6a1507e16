/* Gelu; its gradient needs the input. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    return emit_2(g, OP_GELU_BWD, dout[0], n.in[0], n.attr, &ret_din[0], err);
}

const graph_op_info graph_op_gelu = {
    OP_ROW(GELU),        .name = "Gelu", .attr_bytes = sizeof(gelu_attr),
    .infer = rule_unary, .grad = grad,
};

const graph_op_info graph_op_gelu_bwd = {
    OP_ROW(GELU_BWD),
    .name = "GeluBwd",
    .attr_bytes = sizeof(gelu_attr),
    .infer = rule_unary_bwd,
};
