/* Div with broadcasting: da = dy / b and db = -(dy / b) y. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_shape a = emit_shape_of(g, n.in[0]), b = emit_shape_of(g, n.in[1]);
    graph_val ratio;
    TRY(emit_2(g, OP_DIV, dout[0], n.in[1], NULL, &ratio, err));
    if (want_din[1]) {
        TRY(emit_2(g, OP_MUL, ratio, n.out[0], NULL, &ret_din[1], err));
        TRY(emit_sum_to(g, ret_din[1], &b, &ret_din[1], err));
        TRY(emit_scale(g, ret_din[1], -1.0f, &ret_din[1], err));
    }
    if (want_din[0])
        TRY(emit_sum_to(g, ratio, &a, &ret_din[0], err));
    return OK;
}

const graph_op_info graph_op_div = {
    OP_ROW(DIV),
    .name = "Div",
    .infer = rule_binary,
    .grad = grad,
};
