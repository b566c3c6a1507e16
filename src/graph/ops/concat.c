/* Concat along one axis; its gradient is a Slice an input. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_FIELD(axis_attr, axis, "axis", ATTR_AXIS, 0),
    {0},
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const axis_attr *a = n->attr;
    graph_shape y = *rule_shape(g, n, 0);
    for (int32_t i = 1; i < n->n_in; i++) {
        if (!rule_has(n, i))
            return rule_fail(n, err, "input %" PRId32 " is absent", i);
        const graph_shape *s = rule_shape(g, n, i);
        graph_shape rest = *s;
        TRY(rule_same_type(g, n, 0, i, err));
        if (s->rank == y.rank)
            rest.dim[a->axis] = y.dim[a->axis];
        if (!graph_shape_equal(&rest, &y))
            return rule_fail(n, err, "the inputs %s and %s differ beside axis %" PRId32,
                             SHAPE(rule_shape(g, n, 0)), SHAPE(s), a->axis);
        if (__builtin_add_overflow(y.dim[a->axis], s->dim[a->axis], &y.dim[a->axis]))
            return rule_fail(n, err, "the output is too large to be addressed");
    }
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    int32_t axis = ((const axis_attr *)d->n.attr)->axis;
    slice_attr a = {.n_axes = 1, .axes = {axis}, .step = {1}};
    for (int32_t i = 0; i < d->n.n_in; i++) {
        a.begin[0] = a.end[0];
        a.end[0] += emit_shape_of(d->g, d->n.in[i]).dim[axis];
        if (d->wants[i])
            TRY(emit_1(d->g, OP_SLICE, d->dy[0], &a, &d->dx[i], err));
    }
    return OK;
}

GRAPH_OP(CONCAT, concat, "Concat", ATTRIBUTES(axis_attr, fields), .infer = infer, .grad = grad);
