/* Neg; its gradient is the gradient's negative, so nothing is kept. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)node;
    (void)want_din;
    return emit_1(g, OP_NEG, dout[0], NULL, &ret_din[0], err);
}

const graph_op_info graph_op_neg = {
    OP_ROW(NEG),
    .name = "Neg",
    .infer = rule_unary,
    .grad = grad,
};
