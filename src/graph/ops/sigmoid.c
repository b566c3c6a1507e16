/* Sigmoid; its gradient needs the output only, so the input may be overwritten. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_val y = graph_node_at(g, node)->out[0];
    return emit_2(g, OP_SIGMOID_BWD, dout[0], y, NULL, &ret_din[0], err);
}

const graph_op_info graph_op_sigmoid = {
    OP_ROW(SIGMOID),
    .name = "Sigmoid",
    .infer = rule_unary,
    .grad = grad,
};

const graph_op_info graph_op_sigmoid_bwd = {
    OP_ROW(SIGMOID_BWD),
    .name = "SigmoidBwd",
    .infer = rule_unary_bwd,
};
