/* What makes booleans. No gradient can come back through one, so none is ever asked for. */
#include "graph/ops/rule.h"

static const attr_field is_inf_fields[] = {
    ATTR_FIELD(is_inf_attr, only_negative, "detect_positive", ATTR_NOT, 1),
    ATTR_FIELD(is_inf_attr, only_positive, "detect_negative", ATTR_NOT, 1),
    {0},
};

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

GRAPH_OP(EQUAL, equal, "Equal", .infer = infer_comparison);
GRAPH_OP(LESS, less, "Less", .infer = infer_comparison);
GRAPH_OP(LESS_OR_EQUAL, less_or_equal, "LessOrEqual", .infer = infer_comparison);
GRAPH_OP(GREATER, greater, "Greater", .infer = infer_comparison);
GRAPH_OP(GREATER_OR_EQUAL, greater_or_equal, "GreaterOrEqual", .infer = infer_comparison);
GRAPH_OP(AND, and, "And", .infer = infer_logic);
GRAPH_OP(OR, or, "Or", .infer = infer_logic);
GRAPH_OP(XOR, xor, "Xor", .infer = infer_logic);
GRAPH_OP(NOT, not, "Not", .infer = infer_not);
GRAPH_OP(IS_NAN, is_nan, "IsNaN", .infer = infer_question);

GRAPH_OP(IS_INF, is_inf, "IsInf", ATTRIBUTES(is_inf_attr, is_inf_fields), .infer = infer_question);
