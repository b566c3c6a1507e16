/*
 * Binary cross entropy of what a Sigmoid would make of x, against targets in 0 .. 1, element by
 * element: ln(1 + e^x) - t x. No logarithm of a probability, so large scores lose nothing
 * (PyTorch's binary_cross_entropy_with_logits). dx = dy (sigmoid(x) - t), dt = -dy x.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_float(g, n, 0, err));
    return rule_binary(g, n, ret_shape, ret_dtype, err);
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_shape x = emit_shape_of(g, n.in[0]), t = emit_shape_of(g, n.in[1]);
    if (want_din[1]) {
        TRY(emit_2(g, OP_MUL, dout[0], n.in[0], NULL, &ret_din[1], err));
        TRY(emit_sum_to(g, ret_din[1], &t, &ret_din[1], err));
        TRY(emit_1(g, OP_NEG, ret_din[1], NULL, &ret_din[1], err));
    }
    if (want_din[0]) {
        const graph_val in[] = {dout[0], n.in[0], n.in[1]};
        TRY(graph_add_1(g, OP_SIGMOID_CROSS_ENTROPY_BWD, NULL, in, 3, NULL, &ret_din[0], err));
        TRY(emit_sum_to(g, ret_din[0], &x, &ret_din[0], err));
    }
    return OK;
}

GRAPH_OP(SIGMOID_CROSS_ENTROPY, sigmoid_cross_entropy, "SigmoidCrossEntropy", .infer = infer,
         .grad = grad);

GRAPH_OP(SIGMOID_CROSS_ENTROPY_BWD, sigmoid_cross_entropy_bwd, "SigmoidCrossEntropyBwd",
         .infer = rule_ternary_bwd);
