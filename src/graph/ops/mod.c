/*
 * Mod with broadcasting: what is left of the first operand. Floats need `fmod`, as in ONNX. Of
 * y = a - b trunc(a / b) a's derivative is 1 and b's -trunc(a / b), which is (y - a) / b.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"
#include "graph/schema.h"

static const attr_field fields[] = {
    ATTR_FIELD(mod_attr, fmod, "fmod", ATTR_BOOL, 0),
    {0},
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(rule_binary(g, n, ret_shape, ret_dtype, err));
    if (ret_dtype[0] == DT_F32 && !((const mod_attr *)n->attr)->fmod)
        return rule_fail(n, err,
                         "of floats there is only the rest with the sign of the first "
                         "operand: fmod=1");
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_shape a = emit_shape_of(g, n.in[0]), b = emit_shape_of(g, n.in[1]);
    if (want_din[0])
        TRY(emit_sum_to(g, dout[0], &a, &ret_din[0], err));
    if (want_din[1]) {
        graph_val times;
        TRY(emit_2(g, OP_SUB, n.out[0], n.in[0], NULL, &times, err));
        TRY(emit_2(g, OP_DIV, times, n.in[1], NULL, &times, err));
        TRY(emit_2(g, OP_MUL, times, dout[0], NULL, &times, err));
        TRY(emit_sum_to(g, times, &b, &ret_din[1], err));
    }
    return OK;
}

GRAPH_OP(MOD, mod, "Mod", ATTRIBUTES(mod_attr, fields), .infer = infer, .grad = grad);
