#include "graph/ops/reduce.h"

#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

status reduce_infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    reduce_attr *a = (reduce_attr *)n->attr;
    unsigned reduced = 0;
    TRY(rule_float(g, n, 0, err));
    if (a->n_axes < 0 || a->n_axes > GRAPH_RANK)
        return rule_fail(n, err, "cannot reduce %" PRId32 " axes", a->n_axes);
    for (int32_t i = 0; i < a->n_axes; i++) {
        TRY(rule_axis(n, x->rank, &a->axes[i], err));
        if (reduced & 1u << a->axes[i])
            return rule_fail(n, err, "axis %" PRId32 " of the input %s is named twice", a->axes[i],
                             SHAPE(x));
        reduced |= 1u << a->axes[i];
    }
    if (a->n_axes == 0)
        reduced = (1u << x->rank) - 1;
    a->n_axes = 0;
    graph_shape y = {.rank = 0};
    for (int32_t i = 0; i < x->rank; i++) {
        bool gone = reduced & 1u << i;
        if (gone)
            a->axes[a->n_axes++] = i;
        if (!gone || !a->drop_dims)
            y.dim[y.rank++] = gone ? 1 : x->dim[i];
    }
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

status reduce_spread(graph *g, int32_t node, graph_val dy, bool mean, graph_val *ret, error *err)
{
    graph_node n = *graph_node_at(g, node);
    const reduce_attr *a = n.attr;
    graph_shape x = emit_shape_of(g, n.in[0]), kept = x;
    for (int32_t i = 0; i < a->n_axes; i++)
        kept.dim[a->axes[i]] = 1;
    double count = (double)(graph_shape_elements(&x) / graph_shape_elements(&kept));
    TRY(emit_reshape(g, dy, &kept, &dy, err));
    TRY(emit_scale(g, dy, mean ? (float)(1.0 / count) : 1.0f, &dy, err));
    if (graph_shape_equal(&kept, &x)) {
        *ret = dy;
        return OK;
    }
    return emit_1(g, OP_EXPAND, dy, &(shape_attr){.shape = x}, ret, err);
}
