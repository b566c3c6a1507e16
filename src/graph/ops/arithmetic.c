/* Add, Sub, Mul and Div, with broadcasting, and Neg, whose gradient keeps nothing; and what is made of
 * the bits of whole numbers, through which no gradient flows. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* Of Sub the second operand's is the negative one. */
static status grad_sum(const graph_gradient *d, error *err)
{
    for (int32_t i = 0; i < 2; i++)
        if (d->wants[i])
            TRY(emit_to_input(d, i, d->dy[0], err));
    if (d->wants[1] && d->n.op == OP_SUB)
        TRY(emit_scale(d->g, d->dx[1], -1.0f, &d->dx[1], err));
    return OK;
}

static status grad_mul(const graph_gradient *d, error *err)
{
    for (int32_t i = 0; i < 2; i++) {
        if (!d->wants[i])
            continue;
        TRY(emit_2(d->g, OP_MUL, d->dy[0], d->n.in[1 - i], NULL, &d->dx[i], err));
        TRY(emit_to_input(d, i, d->dx[i], err));
    }
    return OK;
}

/* da = dy / b and db = -(dy / b) y */
static status grad_div(const graph_gradient *d, error *err)
{
    graph_val ratio;
    TRY(emit_2(d->g, OP_DIV, d->dy[0], d->n.in[1], NULL, &ratio, err));
    if (d->wants[1]) {
        TRY(emit_2(d->g, OP_MUL, ratio, d->n.out[0], NULL, &d->dx[1], err));
        TRY(emit_to_input(d, 1, d->dx[1], err));
        TRY(emit_scale(d->g, d->dx[1], -1.0f, &d->dx[1], err));
    }
    return d->wants[0] ? emit_to_input(d, 0, ratio, err) : OK;
}

static status infer_bits(const graph *g, const graph_node *n, graph_shape *ret_shape,
                         dtype *ret_dtype, error *err)
{
    TRY(rule_binary(g, n, ret_shape, ret_dtype, err));
    if (ret_dtype[0] != DT_I64 && ret_dtype[0] != DT_I32 && ret_dtype[0] != DT_U8)
        return rule_fail(n, err, "its inputs are %s, must be int64, int32 or uint8",
                         dtype_name(ret_dtype[0]));
    return OK;
}

GRAPH_OP(ADD, add, "Add", .infer = rule_binary, .grad = grad_sum);
GRAPH_OP(SUB, sub, "Sub", .infer = rule_binary, .grad = grad_sum);
GRAPH_OP(MUL, mul, "Mul", .infer = rule_binary, .grad = grad_mul);
GRAPH_OP(DIV, div, "Div", .infer = rule_binary, .grad = grad_div);
GRAPH_OP(NEG, neg, "Neg", .infer = rule_unary, BACKWARD(NEG, DY(0)));
GRAPH_OP(BITWISE_AND, bitwise_and, "BitwiseAnd", .infer = infer_bits);
GRAPH_OP(BITWISE_OR, bitwise_or, "BitwiseOr", .infer = infer_bits);
GRAPH_OP(BITWISE_XOR, bitwise_xor, "BitwiseXor", .infer = infer_bits);
