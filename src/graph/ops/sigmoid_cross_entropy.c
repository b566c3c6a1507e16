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

static status grad(const graph_gradient *d, error *err)
{
    if (d->wants[1]) {
        TRY(emit_2(d->g, OP_MUL, d->dy[0], d->n.in[0], NULL, &d->dx[1], err));
        TRY(emit_to_input(d, 1, d->dx[1], err));
        TRY(emit_1(d->g, OP_NEG, d->dx[1], NULL, &d->dx[1], err));
    }
    if (d->wants[0]) {
        TRY(emit_3(d->g, OP_SIGMOID_CROSS_ENTROPY_BWD, d->dy[0], d->n.in[0], d->n.in[1], NULL,
                   &d->dx[0], err));
        TRY(emit_to_input(d, 0, d->dx[0], err));
    }
    return OK;
}

GRAPH_OP(SIGMOID_CROSS_ENTROPY, sigmoid_cross_entropy, "SigmoidCrossEntropy", .infer = infer,
         .grad = grad);

GRAPH_OP(SIGMOID_CROSS_ENTROPY_BWD, sigmoid_cross_entropy_bwd, "SigmoidCrossEntropyBwd",
         .infer = rule_ternary_bwd);
