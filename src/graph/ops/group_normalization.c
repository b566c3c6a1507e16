/*
 * GroupNormalization as of opset 21: scale and bias are per channel. Mean and 1 / standard
 * deviation of the groups [N,groups] are outputs, for backward. An InstanceNormalization is one in
 * which every channel is a group.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_WITHIN(group_norm_attr, groups, "num_groups", ATTR_INT, 1, 1, (double)INT64_MAX),
    ATTR_WITHIN(group_norm_attr, epsilon, "epsilon", ATTR_FLOAT, 1e-5, 0, __builtin_inf()),
    {0},
};

static const attr_field instance_fields[] = {
    ATTR_WITHIN(group_norm_attr, epsilon, "epsilon", ATTR_FLOAT, 1e-5, 0, __builtin_inf()),
    {0},
};

/* The shapes of one vector over the channels and of one matrix over samples and groups. */
static status check(const graph *g, const graph_node *n, graph_shape *ret_channels,
                    graph_shape *ret_groups, error *err)
{
    const group_norm_attr *a = n->attr;
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    if (x->rank < 3)
        return rule_fail(n, err, "the input %s must be [batch,channels] and spatial axes",
                         SHAPE(x));
    if (x->dim[1] % a->groups != 0)
        return rule_fail(n, err, "the channels of %s cannot be dealt to %" PRId64 " groups",
                         SHAPE(x), a->groups);
    *ret_channels = (graph_shape){.rank = 1, .dim = {x->dim[1]}};
    *ret_groups = (graph_shape){.rank = 2, .dim = {x->dim[0], a->groups}};
    return rule_expect(g, n, 1, "the scale", ret_channels, err);
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    graph_shape channels, groups, x = *rule_shape(g, n, 0);
    if (n->op == OP_INSTANCE_NORMALIZATION)
        ((group_norm_attr *)n->attr)->groups = x.rank > 1 && x.dim[1] > 0 ? x.dim[1] : 1;
    TRY(check(g, n, &channels, &groups, err));
    TRY(rule_expect(g, n, 2, "the bias", &channels, err));
    ret_shape[0] = x;
    ret_shape[1] = ret_shape[2] = groups;
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(GROUP_NORMALIZATION, group_normalization, "GroupNormalization",
         ATTRIBUTES(group_norm_attr, fields), .infer = infer,
         BACKWARD(GROUP_NORMALIZATION_BWD, X(0), X(1), Y(1), Y(2), DY(0)));

GRAPH_OP(INSTANCE_NORMALIZATION, instance_normalization, "InstanceNormalization",
         ATTRIBUTES(group_norm_attr, instance_fields), .infer = infer,
         BACKWARD(GROUP_NORMALIZATION_BWD, X(0), X(1), Y(1), Y(2), DY(0)));

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    graph_shape channels, groups;
    TRY(check(g, n, &channels, &groups, err));
    TRY(rule_expect(g, n, 2, "the mean", &groups, err));
    TRY(rule_expect(g, n, 3, "the deviation", &groups, err));
    TRY(rule_expect(g, n, 4, "the gradient", rule_shape(g, n, 0), err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_shape[1] = ret_shape[2] = channels;
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(GROUP_NORMALIZATION_BWD, group_normalization_bwd, "GroupNormalizationBwd",
         ATTRIBUTES(group_norm_attr, fields), .infer = infer_bwd);
