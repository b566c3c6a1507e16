/*
 * ToHalf: rounds to the nearest bfloat16 or float16, ties to even, for operators that multiply in
 * that type and add in float32. Rounding counts as the identity in backward.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_FIELD(cast_attr, to, "to", ATTR_TYPE, DT_BF16),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    dtype to = ((const cast_attr *)n->attr)->to;
    if (!dtype_is_half(to))
        return rule_fail(n, err, "%s is no half type, which bfloat16 and float16 are",
                         dtype_name(to));
    if (rule_type(g, n, 0) != DT_F32)
        return rule_fail(n, err, "the input is %s, must be float32",
                         dtype_name(rule_type(g, n, 0)));
    TRY(rule_unary(g, n, ret_shape, ret_dtype, err));
    ret_dtype[0] = to;
    return OK;
}

GRAPH_OP(TO_HALF, to_half, "ToHalf", ATTRIBUTES(cast_attr, fields), .infer = infer,
         .grad = emit_same);
