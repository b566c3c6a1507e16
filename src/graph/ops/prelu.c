/* PRelu: x, or x times a slope where it is not positive; the slope broadcasts to x. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0), *slope = rule_shape(g, n, 1);
    TRY(rule_float(g, n, 0, err));
    TRY(rule_same_type(g, n, 0, 1, err));
    if (!rule_broadcasts_to(slope, x))
        return rule_fail(n, err, "the slope %s does not broadcast to the input %s", SHAPE(slope),
                         SHAPE(x));
    ret_shape[0] = *x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    if (d->wants[1]) {
        graph_val nothing, below;
        TRY(emit_number(d->g, 0.0f, &nothing, err));
        TRY(emit_2(d->g, OP_MIN, d->n.in[0], nothing, NULL, &below, err));
        TRY(emit_2(d->g, OP_MUL, below, d->dy[0], NULL, &below, err));
        TRY(emit_to_input(d, 1, below, err));
    }
    if (!d->wants[0])
        return OK;
    return emit_3(d->g, OP_PRELU_BWD, d->dy[0], d->n.in[0], d->n.in[1], NULL, &d->dx[0], err);
}

GRAPH_OP(PRELU, prelu, "PRelu", .infer = infer, .grad = grad);

GRAPH_OP(PRELU_BWD, prelu_bwd, "PReluBwd", .infer = rule_ternary_bwd);
