/*
 * Mod with broadcasting: what is left of the first operand. Floats need `fmod`, as in ONNX. Of
 * y = a - b trunc(a / b) a's derivative is 1 and b's -trunc(a / b), which is (y - a) / b.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

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

static status grad(const graph_gradient *d, error *err)
{
    if (d->wants[0])
        TRY(emit_to_input(d, 0, d->dy[0], err));
    if (d->wants[1]) {
        graph_val times;
        TRY(emit_2(d->g, OP_SUB, d->n.out[0], d->n.in[0], NULL, &times, err));
        TRY(emit_2(d->g, OP_DIV, times, d->n.in[1], NULL, &times, err));
        TRY(emit_2(d->g, OP_MUL, times, d->dy[0], NULL, &times, err));
        TRY(emit_to_input(d, 1, times, err));
    }
    return OK;
}

GRAPH_OP(MOD, mod, "Mod", ATTRIBUTES(mod_attr, fields), .infer = infer, .grad = grad);
