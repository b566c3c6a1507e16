/* OneHot: a new axis of `depth` elements, `on` at the index and `off` elsewhere. */
#include "graph/ops/rule.h"

/* Depth and values are inputs in ONNX. */
static const attr_field fields[] = {
    ATTR_FIELD(one_hot_attr, axis, "axis", ATTR_NEW_AXIS, -1),
    ATTR_WITHIN(one_hot_attr, depth, "depth", ATTR_INT, 0, 0,
                __builtin_inf()),
    ATTR_OURS(one_hot_attr, off, ATTR_FLOAT, 0),
    ATTR_OURS(one_hot_attr, on, ATTR_FLOAT, 1),
    ATTR_OURS(one_hot_attr, type, ATTR_TYPE, DT_F32),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    const one_hot_attr *a = n->attr;
    if (rule_type(g, n, 0) != DT_F32) /* ONNX allows whole numbers in any type */
        TRY(rule_index(g, n, 0, err));
    if (x->rank == GRAPH_RANK)
        return rule_fail(n, err, "the indices %s leave no room for one more axis", SHAPE(x));
    graph_shape y = {.rank = x->rank + 1};
    for (int32_t i = 0, from = 0; i < y.rank; i++)
        y.dim[i] = i == a->axis ? a->depth : x->dim[from++];
    ret_shape[0] = y;
    ret_dtype[0] = a->type;
    return OK;
}

GRAPH_OP(ONE_HOT, one_hot, "OneHot", ATTRIBUTES(one_hot_attr, fields), .infer = infer);
