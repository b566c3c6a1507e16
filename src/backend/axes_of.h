/*
 * Which axes operators walk that broadcast or move elements. Tensors are row-major.
 * Pure functions.
 */
#ifndef TEQUIO_BACKEND_AXES_OF_H
#define TEQUIO_BACKEND_AXES_OF_H

#include "backend/axes.h"
#include "graph/attrs.h"

_Static_assert((int)AXES_MOST >= (int)GRAPH_RANK, "a tensor's axes");

/* Stride of each axis. */
static inline void axes_row_major(const graph_shape *s, int64_t *ret)
{
    int64_t stride = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        ret[i] = stride;
        stride *= s->dim[i];
    }
}

/* y in its order; operand k is of shape x[k], which broadcasts to y. */
static inline axes axes_of_broadcast(const graph_shape *y, const graph_shape *const *x, int n)
{
    axes a = {.rank = 0};
    int64_t own[AXES_OPERANDS][GRAPH_RANK];
    for (int k = 0; k < n; k++)
        axes_row_major(x[k], own[k]);
    for (int i = 0; i < y->rank; i++) {
        int64_t stride[AXES_OPERANDS];
        for (int k = 0; k < n; k++) {
            int at = i - (y->rank - x[k]->rank);
            stride[k] = at >= 0 && x[k]->dim[at] > 1 ? own[k][at] : 0;
        }
        axes_add(&a, n, y->dim[i], stride);
    }
    axes_end(&a, n);
    return a;
}

/* Moves: operand 0 is where elements go, operand 1 where they come from; in the order of operand 0
 * but for axes_of_slice, which walks the smaller of the two. */

static inline axes axes_of_expand(const graph_shape *y, const graph_shape *x)
{
    return axes_of_broadcast(y, (const graph_shape *const[]){y, x}, 2);
}

static inline axes axes_of_transpose(const graph_shape *x, const transpose_attr *attr)
{
    axes a = {.rank = 0};
    int64_t from[GRAPH_RANK], to[GRAPH_RANK];
    graph_shape y = {.rank = x->rank};
    for (int i = 0; i < x->rank; i++)
        y.dim[i] = x->dim[attr->perm[i]];
    axes_row_major(x, from);
    axes_row_major(&y, to);
    for (int i = 0; i < y.rank; i++)
        axes_add(&a, 2, y.dim[i], (const int64_t[]){to[i], from[attr->perm[i]]});
    axes_end(&a, 2);
    return a;
}

/* `small`, cut out of `whole` or put into it. *ret_first: the place of its first element there. */
static inline axes axes_of_slice(const graph_shape *whole, const graph_shape *small,
                                 const slice_attr *attr, bool to_whole, int64_t *ret_first)
{
    axes a = {.rank = 0};
    int64_t far[GRAPH_RANK], near[GRAPH_RANK];
    axes_row_major(whole, far);
    axes_row_major(small, near);
    *ret_first = 0;
    for (int i = 0; i < whole->rank; i++) {
        int64_t stride = attr->step[i] * far[i];
        *ret_first += attr->begin[i] * far[i];
        axes_add(&a, 2, small->dim[i],
                 (const int64_t[]){to_whole ? stride : near[i], to_whole ? near[i] : stride});
    }
    axes_end(&a, 2);
    return a;
}

/* One input of a Concat along `axis`, where it has `size` positions. */
static inline axes axes_of_part(const graph_shape *y, int32_t axis, int64_t size)
{
    axes a = {.rank = 0};
    int64_t stride[GRAPH_RANK], outer = 1;
    axes_row_major(y, stride);
    for (int i = 0; i < axis; i++)
        outer *= y->dim[i];
    int64_t run = size * stride[axis];
    axes_add(&a, 2, outer, (const int64_t[]){y->dim[axis] * stride[axis], run});
    axes_add(&a, 2, run, (const int64_t[]){1, 1});
    axes_end(&a, 2);
    return a;
}

#endif
