/*
 * Gather: slices of x along one axis, picked by indices; on a table of rows, an embedding. Negative
 * indices count from the end. Its gradient adds every slice back to where it was picked.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

/* The shape of what indices of shape `by` pick from x: they stand where the axis was. */
static status picked(const graph_node *n, const graph_shape *x, const graph_shape *by, int32_t axis,
                     graph_shape *ret, error *err)
{
    graph_shape y = {.rank = x->rank - 1 + by->rank};
    if (x->dim[axis] == 0 && graph_shape_elements(by) > 0)
        return rule_fail(n, err, "axis %" PRId32 " of the input %s has nothing to pick", axis,
                         SHAPE(x));
    if (y.rank > GRAPH_RANK)
        return rule_fail(n, err,
                         "indices %s into the input %s make %" PRId32 " axes, at most %d are known",
                         SHAPE(by), SHAPE(x), y.rank, GRAPH_RANK);
    int32_t to = 0;
    for (int32_t i = 0; i < axis; i++)
        y.dim[to++] = x->dim[i];
    for (int32_t i = 0; i < by->rank; i++)
        y.dim[to++] = by->dim[i];
    for (int32_t i = axis + 1; i < x->rank; i++)
        y.dim[to++] = x->dim[i];
    *ret = y;
    return OK;
}

static const attr_field fields[] = {
    ATTR_FIELD(gather_attr, axis, "axis", ATTR_AXIS, 0),
    {0},
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    gather_attr *a = (gather_attr *)n->attr;
    TRY(rule_index(g, n, 1, err));
    a->x = *x;
    ret_dtype[0] = rule_type(g, n, 0);
    return picked(n, x, rule_shape(g, n, 1), a->axis, &ret_shape[0], err);
}

GRAPH_OP(GATHER, gather, "Gather", ATTRIBUTES(gather_attr, fields), .infer = infer,
         BACKWARD(GATHER_BWD, DY(0), X(1)));

static const attr_field bwd_fields[] = {
    ATTR_OURS(gather_attr, axis, ATTR_INT, 0), /* of x, completed */
    ATTR_MORE,
};

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    const gather_attr *a = n->attr;
    graph_shape dy;
    TRY(rule_float(g, n, 0, err));
    TRY(rule_index(g, n, 1, err));
    TRY(picked(n, &a->x, rule_shape(g, n, 1), a->axis, &dy, err));
    TRY(rule_expect(g, n, 0, "the gradient", &dy, err));
    if (rule_has(n, 2))
        TRY(rule_expect(g, n, 2, "the base", &a->x, err));
    ret_shape[0] = a->x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(GATHER_BWD, gather_bwd, "GatherBwd", ATTRIBUTES(gather_attr, bwd_fields),
         .infer = infer_bwd);
