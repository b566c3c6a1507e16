/* Where: a condition chooses between two operands; all three broadcast. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *c = rule_shape(g, n, 0), *a = rule_shape(g, n, 1), *b = rule_shape(g, n, 2);
    TRY(rule_type_is(g, n, 0, DT_BOOL, err));
    TRY(rule_same_type(g, n, 1, 2, err));
    graph_shape both;
    if (!rule_broadcast(a, b, &both) || !rule_broadcast(c, &both, ret_shape))
        return rule_fail(n, err, "the shapes %s, %s and %s do not broadcast", SHAPE(c), SHAPE(a),
                         SHAPE(b));
    ret_dtype[0] = rule_type(g, n, 1);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    graph_val nothing;
    TRY(emit_number(d->g, 0.0f, &nothing, err));
    for (int32_t i = 1; i < 3; i++) {
        if (!d->wants[i])
            continue;
        graph_val a = i == 1 ? d->dy[0] : nothing, b = i == 2 ? d->dy[0] : nothing;
        TRY(emit_3(d->g, OP_WHERE, d->n.in[0], a, b, NULL, &d->dx[i], err));
        TRY(emit_to_input(d, i, d->dx[i], err));
    }
    return OK;
}

GRAPH_OP(WHERE, where, "Where", .infer = infer, .grad = grad);
