/*
 * Min and Max of two, with broadcasting. The gradient goes to the operand that was taken; where
 * both are alike each gets half.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status grad(const graph_gradient *d, error *err)
{
    graph_op bwd = d->n.op == OP_MAX ? OP_MAX_BWD : OP_MIN_BWD;
    for (int32_t i = 0; i < 2; i++) {
        if (!d->wants[i])
            continue;
        TRY(emit_3(d->g, bwd, d->dy[0], d->n.in[i], d->n.in[1 - i], NULL, &d->dx[i], err));
        TRY(emit_to_input(d, i, d->dx[i], err));
    }
    return OK;
}

GRAPH_OP(MIN, min, "Min", .infer = rule_binary, .grad = grad);

GRAPH_OP(MAX, max, "Max", .infer = rule_binary, .grad = grad);

GRAPH_OP(MIN_BWD, min_bwd, "MinBwd", .infer = rule_ternary_bwd);

GRAPH_OP(MAX_BWD, max_bwd, "MaxBwd", .infer = rule_ternary_bwd);
