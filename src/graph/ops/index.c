/*
 * GatherElements and GatherND pick elements or slices by index, ScatterElements and ScatterND put them:
 * a copy of the data into which they are put, or are combined with what is there in the order of the
 * indices. An element named twice without a reduction is the last one (ONNX leaves it open); the
 * gradient then counts both. ScatterND's batch_dims, which ONNX does not have, are what makes it undo
 * a GatherND.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

#define REDUCTION                                                                                  \
    ATTR_CHOICE(index_attr, reduction, "reduction", "none add mul max min", SCATTER_SET)

static const attr_field gather_elements_fields[] = {
    ATTR_FIELD(index_attr, axis, "axis", ATTR_AXIS, 0),
    {0},
};

static const attr_field gather_nd_fields[] = {
    ATTR_FIELD(index_attr, batch_dims, "batch_dims", ATTR_INT, 0),
    {0},
};

static const attr_field scatter_elements_fields[] = {
    ATTR_FIELD(index_attr, axis, "axis", ATTR_AXIS, 0),
    REDUCTION,
    {0},
};

static const attr_field scatter_nd_fields[] = {REDUCTION, ATTR_MORE};

/* --- shapes --- */

static status nothing_there(const graph_node *n, const graph_shape *x, int32_t axis, error *err)
{
    return rule_fail(n, err, "axis %" PRId32 " of the input %s has no elements to name", axis,
                     SHAPE(x));
}

/* Indices of the rank of input 0, each a position along attr->axis; one element each. */
static status picks_elements(const graph *g, const graph_node *n, graph_shape *ret, error *err)
{
    const graph_shape *x = rule_shape(g, n, 0), *by = rule_shape(g, n, 1);
    const index_attr *a = n->attr;
    TRY(rule_index(g, n, 1, err));
    if (by->rank != x->rank)
        return rule_fail(n, err,
                         "the indices %s must have as many axes as the input %s, one at least",
                         SHAPE(by), SHAPE(x));
    if (x->dim[a->axis] == 0 && graph_shape_elements(by) > 0)
        return nothing_there(n, x, a->axis, err);
    for (int32_t i = 0; i < x->rank; i++)
        if (i != a->axis && by->dim[i] > x->dim[i])
            return rule_fail(n, err, "the indices %s reach beyond the input %s along axis %" PRId32,
                             SHAPE(by), SHAPE(x), i);
    *ret = *by;
    return OK;
}

/* Indices [batch..., any..., k]: k positions along the axes after attr->batch_dims; a slice each.
 */
static status picks_slices(const graph *g, const graph_node *n, graph_shape *ret, error *err)
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
    for (int32_t i = batch; i < batch + depth; i++)
        if (x->dim[i] == 0 && graph_shape_elements(by) > 0)
            return nothing_there(n, x, i, err);
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

static status infer_gather(const graph *g, const graph_node *n, graph_shape *ret_shape,
                           dtype *ret_dtype, error *err)
{
    ret_dtype[0] = rule_type(g, n, 0);
    return (n->op == OP_GATHER_ND ? picks_slices : picks_elements)(g, n, &ret_shape[0], err);
}

/* data, indices, updates -> y */
static status infer_scatter(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    graph_shape updates;
    TRY((n->op == OP_SCATTER_ND ? picks_slices : picks_elements)(g, n, &updates, err));
    TRY(rule_same_type(g, n, 0, 2, err));
    TRY(rule_expect(g, n, 2, "the tensor of updates", &updates, err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

/* --- gradients: of a gather by the scatter that undoes it, and of a scatter by both --- */

static status grad_gather(const graph_gradient *d, error *err)
{
    graph_op scatter = d->n.op == OP_GATHER_ND ? OP_SCATTER_ND : OP_SCATTER_ELEMENTS;
    index_attr a = *(const index_attr *)d->n.attr;
    graph_shape x = emit_shape_of(d->g, d->n.in[0]);
    graph_val zero;
    a.reduction = SCATTER_ADD;
    TRY(emit_zero(d->g, &x, &zero, err));
    return emit_3(d->g, scatter, zero, d->n.in[1], d->dy[0], &a, &d->dx[0], err);
}

/* f32: 1 where a and b are equal, 0 elsewhere. */
static status emit_alike(graph *g, graph_val a, graph_val b, graph_val *ret, error *err)
{
    graph_val alike;
    TRY(emit_2(g, OP_EQUAL, a, b, NULL, &alike, err));
    return emit_1(g, OP_CAST, alike, &(cast_attr){.to = DT_F32}, ret, err);
}

/* One more scatter of the node's kind. */
static status emit_put(graph *g, const graph_node *n, scatter_reduction r, graph_val data,
                       graph_val updates, graph_val *ret, error *err)
{
    index_attr a = *(const index_attr *)n->attr;
    a.reduction = r;
    return emit_3(g, n->op, data, n->in[1], updates, &a, ret, err);
}

static status emit_pick(graph *g, graph_op gather, const graph_node *n, graph_val x, graph_val *ret,
                        error *err)
{
    return emit_2(g, gather, x, n->in[1], n->attr, ret, err);
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
    return emit_put(g, n, a->reduction, dy, updates, ret, err);
}

/* A factor's gradient is the product of the others at its place: that of all which are not zero
 * over its own, if no other is zero. */
static status grad_of_factors(graph *g, const graph_node *n, graph_op gather, graph_val dy,
                              graph_val *ret, error *err)
{
    graph_val zero, data, updates, product, zeros, others, rest;
    TRY(emit_number(g, 0.0f, &zero, err));
    TRY(emit_alike(g, n->in[0], zero, &data, err));
    TRY(emit_alike(g, n->in[2], zero, &updates, err));
    TRY(emit_put(g, n, SCATTER_ADD, data, updates, &zeros, err));
    TRY(emit_pick(g, gather, n, zeros, &zeros, err));
    TRY(emit_2(g, OP_SUB, zeros, updates, NULL, &others, err)); /* zeros besides its own */
    TRY(emit_alike(g, others, zero, &others, err));
    TRY(emit_2(g, OP_ADD, n->in[0], data, NULL, &data, err)); /* 1 in place of 0 */
    TRY(emit_2(g, OP_ADD, n->in[2], updates, NULL, &updates, err));
    TRY(emit_put(g, n, SCATTER_MUL, data, updates, &product, err));
    TRY(emit_pick(g, gather, n, product, &product, err));
    TRY(emit_2(g, OP_DIV, product, updates, NULL, &rest, err));
    TRY(emit_2(g, OP_MUL, rest, others, NULL, &rest, err));
    TRY(emit_pick(g, gather, n, dy, &dy, err));
    return emit_2(g, OP_MUL, dy, rest, NULL, ret, err);
}

/* The gradient goes to whoever is the largest or smallest at a position, in equal shares. */
static status grad_of_extremes(const graph_gradient *d, graph_op gather, error *err)
{
    graph *g = d->g;
    const graph_node *n = &d->n;
    graph_val y, data, updates, winners, share;
    TRY(emit_pick(g, gather, n, n->out[0], &y, err));
    TRY(emit_alike(g, n->in[0], n->out[0], &data, err));
    TRY(emit_alike(g, n->in[2], y, &updates, err));
    TRY(emit_put(g, n, SCATTER_ADD, data, updates, &winners, err));
    TRY(emit_2(g, OP_DIV, d->dy[0], winners, NULL, &share, err));
    if (d->wants[0])
        TRY(emit_2(g, OP_MUL, share, data, NULL, &d->dx[0], err));
    if (d->wants[2]) {
        TRY(emit_pick(g, gather, n, share, &share, err));
        TRY(emit_2(g, OP_MUL, share, updates, NULL, &d->dx[2], err));
    }
    return OK;
}

static status grad_scatter(const graph_gradient *d, error *err)
{
    graph_op gather = d->n.op == OP_SCATTER_ND ? OP_GATHER_ND : OP_GATHER_ELEMENTS;
    scatter_reduction r = ((const index_attr *)d->n.attr)->reduction;
    if (r == SCATTER_MAX || r == SCATTER_MIN)
        return grad_of_extremes(d, gather, err);
    if (d->wants[0])
        TRY(grad_of_data(d->g, &d->n, d->dy[0], &d->dx[0], err));
    if (d->wants[2] && r == SCATTER_MUL)
        TRY(grad_of_factors(d->g, &d->n, gather, d->dy[0], &d->dx[2], err));
    else if (d->wants[2])
        TRY(emit_pick(d->g, gather, &d->n, d->dy[0], &d->dx[2], err));
    return OK;
}

GRAPH_OP(GATHER_ELEMENTS, gather_elements, "GatherElements",
         ATTRIBUTES(index_attr, gather_elements_fields), .infer = infer_gather, .grad = grad_gather);
GRAPH_OP(GATHER_ND, gather_nd, "GatherND", ATTRIBUTES(index_attr, gather_nd_fields),
         .infer = infer_gather, .grad = grad_gather);
GRAPH_OP(SCATTER_ELEMENTS, scatter_elements, "ScatterElements",
         ATTRIBUTES(index_attr, scatter_elements_fields), .infer = infer_scatter,
         .grad = grad_scatter);
GRAPH_OP(SCATTER_ND, scatter_nd, "ScatterND", ATTRIBUTES(index_attr, scatter_nd_fields),
         .infer = infer_scatter, .grad = grad_scatter);
