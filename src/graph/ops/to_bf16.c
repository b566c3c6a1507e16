/*
 * ToBfloat16: rounds to the nearest bfloat16, ties to even, for operators that multiply in that
 * type and add in float32. Rounding counts as the identity in backward.
 */
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    if (rule_type(g, n, 0) != DT_F32)
        return rule_fail(n, err, "the input is %s, must be float32",
                         dtype_name(rule_type(g, n, 0)));
    TRY(rule_unary(g, n, ret_shape, ret_dtype, err));
    ret_dtype[0] = DT_BF16;
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)g, (void)node, (void)want_din, (void)err;
    ret_din[0] = dout[0];
    return OK;
}

const graph_op_info graph_op_to_bf16 = {
    OP_ROW(TO_BF16),
    .name = "ToBfloat16",
    .infer = infer,
    .grad = grad,
};
