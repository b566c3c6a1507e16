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

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_val nothing;
    TRY(emit_number(g, 0.0f, &nothing, err));
    for (int32_t i = 1; i < 3; i++) {
        graph_shape own = emit_shape_of(g, n.in[i]);
        if (!want_din[i])
            continue;
        const graph_val in[] = {n.in[0], i == 1 ? dout[0] : nothing, i == 2 ? dout[0] : nothing};
        TRY(graph_add_1(g, OP_WHERE, NULL, in, 3, NULL, &ret_din[i], err));
        TRY(emit_sum_to(g, ret_din[i], &own, &ret_din[i], err));
    }
    return OK;
}

GRAPH_OP(WHERE, where, "Where", .infer = infer, .grad = grad);
