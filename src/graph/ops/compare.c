/* What makes booleans. No gradient can come back through one, so none is ever asked for. */
#include "graph/ops/rule.h"

static bool orders(graph_op op)
{
    return op == OP_LESS || op == OP_LESS_OR_EQUAL || op == OP_GREATER || op == OP_GREATER_OR_EQUAL;
}

static status infer_comparison(const graph *g, const graph_node *n, graph_shape *ret_shape,
                               dtype *ret_dtype, error *err)
{
    TRY(rule_binary(g, n, ret_shape, ret_dtype, err));
    if (orders(n->op) && ret_dtype[0] == DT_BOOL)
        return rule_fail(n, err, "booleans have no order");
    ret_dtype[0] = DT_BOOL;
    return OK;
}

static status infer_logic(const graph *g, const graph_node *n, graph_shape *ret_shape,
                          dtype *ret_dtype, error *err)
{
    for (int32_t i = 0; i < n->n_in; i++)
        TRY(rule_type_is(g, n, i, DT_BOOL, err));
    return rule_binary(g, n, ret_shape, ret_dtype, err);
}

static status infer_not(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = DT_BOOL;
    return rule_type_is(g, n, 0, DT_BOOL, err);
}

static status infer_question(const graph *g, const graph_node *n, graph_shape *ret_shape,
                             dtype *ret_dtype, error *err)
{
    TRY(rule_unary(g, n, ret_shape, ret_dtype, err));
    ret_dtype[0] = DT_BOOL;
    return OK;
}

/* clang-format off */
#define ROW(ID, name_, onnx, rule)                                                                 \
    const graph_op_info graph_op_##name_ = {OP_ROW(ID), .name = onnx, .infer = rule};

ROW(EQUAL, equal, "Equal", infer_comparison)
ROW(LESS, less, "Less", infer_comparison)
ROW(LESS_OR_EQUAL, less_or_equal, "LessOrEqual", infer_comparison)
ROW(GREATER, greater, "Greater", infer_comparison)
ROW(GREATER_OR_EQUAL, greater_or_equal, "GreaterOrEqual", infer_comparison)
ROW(AND, and, "And", infer_logic)
ROW(OR, or, "Or", infer_logic)
ROW(XOR, xor, "Xor", infer_logic)
ROW(NOT, not, "Not", infer_not)
ROW(IS_NAN, is_nan, "IsNaN", infer_question)
/* clang-format on */

const graph_op_info graph_op_is_inf = {
    OP_ROW(IS_INF),
    .name = "IsInf",
    .attr_bytes = sizeof(is_inf_attr),
    .infer = infer_question,
};
