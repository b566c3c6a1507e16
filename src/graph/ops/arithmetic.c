/* Add, Sub, Mul and Div, with broadcasting, and Neg, whose gradient keeps nothing; and what is made of
 * the bits of whole numbers, through which no gradient flows. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* Of Sub the second operand's is the negative one. */
static status grad_sum(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                       graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    for (int32_t i = 0; i < 2; i++) {
        graph_shape own = emit_shape_of(g, n.in[i]);
        if (want_din[i])
            TRY(emit_sum_to(g, dout[0], &own, &ret_din[i], err));
    }
    if (want_din[1] && n.op == OP_SUB)
        TRY(emit_scale(g, ret_din[1], -1.0f, &ret_din[1], err));
    return OK;
}

static status grad_mul(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                       graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    for (int32_t i = 0; i < 2; i++) {
        graph_shape own = emit_shape_of(g, n.in[i]);
        if (!want_din[i])
            continue;
        TRY(emit_2(g, OP_MUL, dout[0], n.in[1 - i], NULL, &ret_din[i], err));
        TRY(emit_sum_to(g, ret_din[i], &own, &ret_din[i], err));
    }
    return OK;
}

/* da = dy / b and db = -(dy / b) y */
static status grad_div(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                       graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    graph_shape a = emit_shape_of(g, n.in[0]), b = emit_shape_of(g, n.in[1]);
    graph_val ratio;
    TRY(emit_2(g, OP_DIV, dout[0], n.in[1], NULL, &ratio, err));
    if (want_din[1]) {
        TRY(emit_2(g, OP_MUL, ratio, n.out[0], NULL, &ret_din[1], err));
        TRY(emit_sum_to(g, ret_din[1], &b, &ret_din[1], err));
        TRY(emit_scale(g, ret_din[1], -1.0f, &ret_din[1], err));
    }
    if (want_din[0])
        TRY(emit_sum_to(g, ratio, &a, &ret_din[0], err));
    return OK;
}

static status grad_neg(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                       graph_val *ret_din, error *err)
{
    (void)node;
    (void)want_din;
    return emit_1(g, OP_NEG, dout[0], NULL, &ret_din[0], err);
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
GRAPH_OP(NEG, neg, "Neg", .infer = rule_unary, .grad = grad_neg);
GRAPH_OP(BITWISE_AND, bitwise_and, "BitwiseAnd", .infer = infer_bits);
GRAPH_OP(BITWISE_OR, bitwise_or, "BitwiseOr", .infer = infer_bits);
GRAPH_OP(BITWISE_XOR, bitwise_xor, "BitwiseXor", .infer = infer_bits);
