/*
 * What walks along one axis: ArgMax and ArgMin give positions and so no gradient; Hardmax is flat
 * nearly everywhere; the gradient of a running sum is the running sum from the other end.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field arg_fields[] = {
    ATTR_FIELD(arg_attr, axis, "axis", ATTR_AXIS, 0),
    ATTR_FIELD(arg_attr, drop_dims, "keepdims", ATTR_NOT, 1),
    ATTR_FIELD(arg_attr, last, "select_last_index", ATTR_BOOL, 0),
    {0},
};

static const attr_field hardmax_fields[] = {
    ATTR_FIELD(axis_attr, axis, "axis", ATTR_AXIS, -1),
    {0},
};

/* The axis is an input in ONNX. */
static const attr_field cum_sum_fields[] = {
    ATTR_FIELD(cum_sum_attr, axis, "axis", ATTR_AXIS, 0),
    ATTR_FIELD(cum_sum_attr, exclusive, "exclusive", ATTR_BOOL, 0),
    ATTR_FIELD(cum_sum_attr, reverse, "reverse", ATTR_BOOL, 0),
    {0},
};

static status infer_arg(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const arg_attr *a = n->attr;
    graph_shape x = *rule_shape(g, n, 0), y = {.rank = 0};
    if (x.dim[a->axis] == 0)
        return rule_fail(n, err, "axis %" PRId32 " of the input %s has no elements to compare",
                         a->axis, SHAPE(&x));
    for (int32_t i = 0; i < x.rank; i++) {
        if (i != a->axis || !a->drop_dims)
            y.dim[y.rank++] = i == a->axis ? 1 : x.dim[i];
    }
    ret_shape[0] = y;
    ret_dtype[0] = DT_I64;
    return OK;
}

static status infer_cum_sum(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    (void)err;
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad_cum_sum(const graph_gradient *d, error *err)
{
    cum_sum_attr a = *(const cum_sum_attr *)d->n.attr;
    a.reverse = !a.reverse;
    return emit_1(d->g, OP_CUM_SUM, d->dy[0], &a, &d->dx[0], err);
}

GRAPH_OP(ARG_MAX, arg_max, "ArgMax", ATTRIBUTES(arg_attr, arg_fields), .infer = infer_arg);

GRAPH_OP(ARG_MIN, arg_min, "ArgMin", ATTRIBUTES(arg_attr, arg_fields), .infer = infer_arg);

GRAPH_OP(HARDMAX, hardmax, "Hardmax", ATTRIBUTES(axis_attr, hardmax_fields), .infer = rule_unary,
         .grad = emit_nothing);

GRAPH_OP(CUM_SUM, cum_sum, "CumSum", ATTRIBUTES(cum_sum_attr, cum_sum_fields),
         .infer = infer_cum_sum, .grad = grad_cum_sum);
