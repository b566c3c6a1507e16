#include "graph/ops/index.h"

#include <inttypes.h>

status index_elements(const graph *g, const graph_node *n, graph_shape *ret, error *err)
{
    const graph_shape *x = rule_shape(g, n, 0), *by = rule_shape(g, n, 1);
    index_attr *a = (index_attr *)n->attr;
    TRY(rule_index(g, n, 1, err));
    if (x->rank == 0 || by->rank != x->rank)
        return rule_fail(n, err,
                         "the indices %s must have as many axes as the input %s, one at least",
                         SHAPE(by), SHAPE(x));
    TRY(rule_axis(n, x->rank, &a->axis, err));
    for (int32_t i = 0; i < x->rank; i++)
        if (i != a->axis && by->dim[i] > x->dim[i])
            return rule_fail(n, err, "the indices %s reach beyond the input %s along axis %" PRId32,
                             SHAPE(by), SHAPE(x), i);
    *ret = *by;
    return OK;
}

status index_nd(const graph *g, const graph_node *n, graph_shape *ret, error *err)
{
    const graph_shape *x = rule_shape(g, n, 0), *by = rule_shape(g, n, 1);
    int32_t batch = ((const index_attr *)n->attr)->batch_dims;
    TRY(rule_index(g, n, 1, err));
    if (by->rank < 1 || batch < 0 || batch >= by->rank || batch >= x->rank)
        return rule_fail(n, err,
                         "indices %s into the input %s do not leave an axis after %" PRId32
                         " of the batch",
                         SHAPE(by), SHAPE(x), batch);
    int64_t depth = by->dim[by->rank - 1];
    if (depth < 1 || depth > x->rank - batch)
        return rule_fail(n, err,
                         "indices %s name %" PRId64 " axes of the input %s, 1 to %" PRId32
                         " are possible",
                         SHAPE(by), depth, SHAPE(x), x->rank - batch);
    for (int32_t i = 0; i < batch; i++)
        if (by->dim[i] != x->dim[i])
            return rule_fail(n, err,
                             "the indices %s and the input %s differ along batch axis %" PRId32,
                             SHAPE(by), SHAPE(x), i);
    graph_shape y = {.rank = by->rank - 1 + x->rank - batch - (int32_t)depth};
    if (y.rank > GRAPH_RANK)
        return rule_fail(n, err,
                         "indices %s into the input %s make %" PRId32 " axes, at most %d are known",
                         SHAPE(by), SHAPE(x), y.rank, GRAPH_RANK);
    for (int32_t i = 0; i < y.rank; i++)
        y.dim[i] = i < by->rank - 1 ? by->dim[i] : x->dim[x->rank - y.rank + i];
    *ret = y;
    return OK;
}

status index_infer_scatter(const graph *g, const graph_node *n, index_rule *picked,
                           graph_shape *ret_shape, dtype *ret_dtype, error *err)
{
    graph_shape updates;
    scatter_reduction r = ((const index_attr *)n->attr)->reduction;
    TRY(picked(g, n, &updates, err));
    TRY(rule_same_type(g, n, 0, 2, err));
    TRY(rule_expect(g, n, 2, "the tensor of updates", &updates, err));
    if (r < SCATTER_SET || r > SCATTER_MIN)
        return rule_fail(n, err, "reduction %d is none of none, add, mul, max, min", (int)r);
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

status index_grad_gather(graph *g, int32_t node, graph_op scatter, const graph_val *dout,
                         graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    index_attr a = *(const index_attr *)n.attr;
    graph_shape x = emit_shape_of(g, n.in[0]);
    graph_val zero;
    a.reduction = SCATTER_ADD;
    TRY(emit_zero(g, &x, &zero, err));
    return graph_add_1(g, scatter, NULL, (const graph_val[]){zero, n.in[1], dout[0]}, 3, &a,
                       &ret_din[0], err);
}

/* What was overwritten has no part in the output; what was multiplied passes through its factors.
 */
static status grad_of_data(graph *g, const graph_node *n, graph_val dy, graph_val *ret, error *err)
{
    const index_attr *a = n->attr;
    graph_val updates = n->in[2];
    if (a->reduction == SCATTER_ADD) {
        *ret = dy;
        return OK;
    }
    if (a->reduction == SCATTER_SET) {
        graph_shape s = emit_shape_of(g, updates);
        TRY(emit_zero(g, &s, &updates, err));
    }
    return graph_add_1(g, n->op, NULL, (const graph_val[]){dy, n->in[1], updates}, 3, a, ret, err);
}

status index_grad_scatter(graph *g, int32_t node, graph_op gather, const graph_val *dout,
                          const bool *want_din, graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    const index_attr *a = n.attr;
    if (a->reduction == SCATTER_MAX || a->reduction == SCATTER_MIN)
        return FAIL(err, E_UNSUPPORTED, "no gradient with the reductions max and min");
    if (want_din[2] && a->reduction == SCATTER_MUL)
        return FAIL(err, E_UNSUPPORTED, "no gradient for the updates with the reduction mul");
    if (want_din[0])
        TRY(grad_of_data(g, &n, dout[0], &ret_din[0], err));
    if (want_din[2])
        TRY(emit_2(g, gather, dout[0], n.in[1], a, &ret_din[2], err));
    return OK;
}
