#include "graph/index_positions.h"

#include "graph/attrs.h"
#include "graph/axis_split.h"

_Static_assert((int)INDEX_AXES == (int)GRAPH_RANK, "indices may name every axis");

/* Row k is slice k along the axis. */
static void name_slices(index_positions *ret, const gather_attr *a)
{
    axis_split at = axis_split_of(&a->x, a->axis);
    ret->outer = at.outer;
    ret->rows = at.n;
    ret->inner = at.inner;
    ret->depth = 1;
    ret->size[0] = ret->rows;
    ret->stride[0] = 1;
    ret->rank = 1;
    ret->dim[0] = ret->count;
}

/* Every element is a row; an index stands for the coordinate along the axis, its own position for
 * the others. */
static void name_elements(index_positions *ret, const graph_shape *x, const graph_shape *by,
                          int32_t axis)
{
    int64_t stride = 1;
    ret->inner = 1;
    ret->depth = 1;
    ret->rank = by->rank;
    for (int32_t i = x->rank - 1; i >= 0; i--) {
        ret->dim[i] = by->dim[i];
        ret->base[i] = i == axis ? 0 : stride;
        if (i == axis) {
            ret->size[0] = x->dim[i];
            ret->stride[0] = stride;
        }
        stride *= x->dim[i];
    }
    ret->rows = stride;
}

/* Rows lie behind the named axes; the axes of the batch go along with the indices'. */
static void name_parts(index_positions *ret, const graph_shape *x, const graph_shape *by,
                       int32_t batch)
{
    int64_t stride = 1;
    ret->inner = 1;
    ret->depth = (int32_t)by->dim[by->rank - 1];
    ret->rank = by->rank - 1;
    for (int32_t i = batch + ret->depth - 1; i >= 0; i--) {
        if (i < batch) {
            ret->base[i] = stride;
        } else {
            ret->size[i - batch] = x->dim[i];
            ret->stride[i - batch] = stride;
        }
        stride *= x->dim[i];
    }
    for (int32_t i = 0; i < ret->rank; i++)
        ret->dim[i] = by->dim[i];
    ret->rows = stride;
    for (int32_t i = batch + ret->depth; i < x->rank; i++)
        ret->inner *= x->dim[i];
    ret->count /= ret->depth;
}

index_positions index_positions_of(const graph *g, const graph_node *n)
{
    const graph_value *x = graph_value_at(g, n->in[0]), *by = graph_value_at(g, n->in[1]);
    index_positions p = {
        .outer = 1,
        .count = graph_shape_elements(&by->shape),
        .wide = by->dtype == DT_I64,
    };
    if (n->op == OP_GATHER || n->op == OP_GATHER_BWD)
        name_slices(&p, n->attr);
    else if (n->op == OP_GATHER_ELEMENTS || n->op == OP_SCATTER_ELEMENTS)
        name_elements(&p, &x->shape, &by->shape, ((const index_attr *)n->attr)->axis);
    else
        name_parts(&p, &x->shape, &by->shape, ((const index_attr *)n->attr)->batch_dims);
    return p;
}
