/*
 * The same bytes in another shape. Reshape: one -1 takes what is left, which nothing tells where
 * the other axes make no elements; a 0 is a size, unless it is to copy the input's axis. Flatten: a
 * matrix, rows up to `axis`, columns from there.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

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
    if (asked.rank < 0 || asked.rank > GRAPH_RANK)
        return rule_fail(n, err, "a shape has 0 to 8 axes, not %d", (int)asked.rank);
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
    const graph_shape *x = rule_shape(g, n, 0);
    axis_attr *a = (axis_attr *)n->attr;
    if (a->axis != x->rank) /* all rows, no columns: ONNX allows it */
        TRY(rule_axis(n, x->rank, &a->axis, err));
    graph_shape y = {.rank = 2, .dim = {1, 1}};
    for (int32_t i = 0; i < x->rank; i++)
        y.dim[i < a->axis ? 0 : 1] *= x->dim[i];
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_shape x = emit_shape_of(g, graph_node_at(g, node)->in[0]);
    return emit_reshape(g, dout[0], &x, &ret_din[0], err);
}

GRAPH_OP(RESHAPE, reshape, "Reshape", .attr_bytes = sizeof(shape_attr), .infer = infer_reshape,
         .grad = grad);

GRAPH_OP(FLATTEN, flatten, "Flatten", .attr_bytes = sizeof(axis_attr), .infer = infer_flatten,
         .grad = grad);
