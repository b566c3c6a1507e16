/*
 * The same bytes in another shape. Reshape: one -1 takes what is left, which nothing tells where
 * the other axes make no elements; a 0 is a size, unless it is to copy the input's axis. Flatten: a
 * matrix, rows up to `axis`, columns from there.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field reshape_fields[] = {
    ATTR_FIELD(shape_attr, shape, "shape", ATTR_SHAPE, 0),
    ATTR_FIELD(shape_attr, zero_copies, "allowzero", ATTR_NOT, 0),
    ATTR_MORE,
};

static const attr_field flatten_fields[] = {
    ATTR_FIELD(axis_attr, axis, "axis", ATTR_SPLIT, 1),
    {0},
};

static status misfit(const graph_node *n, const graph_shape *x, const graph_shape *asked,
                     error *err)
{
    return rule_fail(n, err, "the input %s cannot take the shape %s", SHAPE(x), SHAPE(asked));
}

static status infer_reshape(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    shape_attr *a = (shape_attr *)n->attr;
    graph_shape asked = a->shape, y = asked;
    int64_t known = 1, total = graph_shape_elements(x);
    int32_t open = GRAPH_NONE;
    for (int32_t i = 0; i < y.rank; i++) {
        if (y.dim[i] == 0 && a->zero_copies && i < x->rank)
            y.dim[i] = x->dim[i];
        if (y.dim[i] == -1 && open == GRAPH_NONE) {
            open = i;
            continue;
        }
        if (y.dim[i] < 0 || __builtin_mul_overflow(known, y.dim[i], &known))
            return misfit(n, x, &asked, err);
    }
    if (open != GRAPH_NONE && known != 0) {
        y.dim[open] = total / known;
        known *= y.dim[open];
    }
    if (known != total || (open != GRAPH_NONE && y.dim[open] < 0))
        return misfit(n, x, &asked, err);
    *a = (shape_attr){.shape = y};
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status infer_flatten(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    (void)err;
    const graph_shape *x = rule_shape(g, n, 0);
    const axis_attr *a = n->attr;
    graph_shape y = {.rank = 2, .dim = {1, 1}};
    for (int32_t i = 0; i < x->rank; i++)
        y.dim[i < a->axis ? 0 : 1] *= x->dim[i];
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(RESHAPE, reshape, "Reshape", ATTRIBUTES(shape_attr, reshape_fields), .infer = infer_reshape,
         .grad = emit_reshaped);

GRAPH_OP(FLATTEN, flatten, "Flatten", ATTRIBUTES(axis_attr, flatten_fields), .infer = infer_flatten,
         .grad = emit_reshaped);
