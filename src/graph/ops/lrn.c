/*
 * LRN: y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels) ^ beta. Output
 * 1 is what stands in the parentheses, for backward.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_WITHIN(lrn_attr, size, "size", ATTR_INT, 1, 1, (double)INT64_MAX),
    ATTR_FIELD(lrn_attr, alpha, "alpha", ATTR_FLOAT, 1e-4),
    ATTR_FIELD(lrn_attr, beta, "beta", ATTR_FLOAT, 0.75),
    ATTR_FIELD(lrn_attr, bias, "bias", ATTR_FLOAT, 1),
    {0},
};

static status check(const graph *g, const graph_node *n, int32_t x, error *err)
{
    TRY(rule_float(g, n, x, err));
    if (rule_shape(g, n, x)->rank < 2)
        return rule_fail(n, err, "the input %s must have a channel axis",
                         SHAPE(rule_shape(g, n, x)));
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    TRY(check(g, n, 0, err));
    ret_shape[0] = ret_shape[1] = *rule_shape(g, n, 0);
    ret_dtype[0] = ret_dtype[1] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(LRN, lrn, "LRN", ATTRIBUTES(lrn_attr, fields), .infer = infer,
         BACKWARD(LRN_BWD, DY(0), X(0), Y(0), Y(1)));

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const graph_shape *x = rule_shape(g, n, 1);
    TRY(check(g, n, 1, err));
    TRY(rule_expect(g, n, 0, "the gradient", x, err));
    TRY(rule_expect(g, n, 2, "the normalised value", x, err));
    TRY(rule_expect(g, n, 3, "the sums of squares", x, err));
    ret_shape[0] = *x;
    ret_dtype[0] = rule_type(g, n, 1);
    return OK;
}

GRAPH_OP(LRN_BWD, lrn_bwd, "LRNBwd", ATTRIBUTES(lrn_attr, fields), .infer = infer_bwd);
