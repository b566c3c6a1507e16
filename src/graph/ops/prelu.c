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

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    if (want_din[1]) {
        graph_shape slope = emit_shape_of(g, n.in[1]);
        graph_val nothing, below;
        TRY(emit_number(g, 0.0f, &nothing, err));
        TRY(emit_2(g, OP_MIN, n.in[0], nothing, NULL, &below, err));
        TRY(emit_2(g, OP_MUL, below, dout[0], NULL, &below, err));
        TRY(emit_sum_to(g, below, &slope, &ret_din[1], err));
    }
    if (want_din[0]) {
        const graph_val in[] = {dout[0], n.in[0], n.in[1]};
        TRY(graph_add_1(g, OP_PRELU_BWD, NULL, in, 3, NULL, &ret_din[0], err));
    }
    return OK;
}

GRAPH_OP(PRELU, prelu, "PRelu", .infer = infer, .grad = grad);

GRAPH_OP(PRELU_BWD, prelu_bwd, "PReluBwd", .infer = rule_ternary_bwd);
