/*
 * Min and Max of two, with broadcasting. The gradient goes to the operand that was taken; where
 * both are alike each gets half.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_op bwd = n.op == OP_MAX ? OP_MAX_BWD : OP_MIN_BWD;
    for (int32_t i = 0; i < 2; i++) {
        graph_shape own = emit_shape_of(g, n.in[i]);
        if (!want_din[i])
            continue;
        const graph_val in[] = {dout[0], n.in[i], n.in[1 - i]};
        TRY(graph_add_1(g, bwd, NULL, in, 3, NULL, &ret_din[i], err));
        TRY(emit_sum_to(g, ret_din[i], &own, &ret_din[i], err));
    }
    return OK;
}

GRAPH_OP(MIN, min, "Min", .infer = rule_binary, .grad = grad);

GRAPH_OP(MAX, max, "Max", .infer = rule_binary, .grad = grad);

GRAPH_OP(MIN_BWD, min_bwd, "MinBwd", .infer = rule_ternary_bwd);

GRAPH_OP(MAX_BWD, max_bwd, "MaxBwd", .infer = rule_ternary_bwd);
