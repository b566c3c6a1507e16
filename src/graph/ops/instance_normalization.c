/* InstanceNormalization: a GroupNormalization in which every channel is a group. */
#include "graph/ops/group_norm.h"

static const attr_field fields[] = {
    ATTR_WITHIN(group_norm_attr, epsilon, "epsilon", ATTR_FLOAT, 1e-5, 0, __builtin_inf()),
    {0},
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    ((group_norm_attr *)n->attr)->groups = x->rank > 1 && x->dim[1] > 0 ? x->dim[1] : 1;
    return group_norm_infer(g, n, ret_shape, ret_dtype, err);
}

const graph_op_info graph_op_instance_normalization = {
    OP_ROW(INSTANCE_NORMALIZATION),
    .name = "InstanceNormalization",
    .attr_bytes = sizeof(group_norm_attr),
    .fields = fields,
    .infer = infer,
    .grad = group_norm_grad,
};
