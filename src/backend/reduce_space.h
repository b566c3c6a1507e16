/*
 * What a reduction runs over, for the kernels of every backend: the input's axes fall into kept and
 * reduced ones, and neighbours of one kind are one axis. Pure functions.
 */
#ifndef TEQUIO_BACKEND_REDUCE_SPACE_H
#define TEQUIO_BACKEND_REDUCE_SPACE_H

#include "common/base/inline.h"

#include <stdbool.h>
#include <stdint.h>

enum { REDUCE_RANK = 8 };

typedef struct reduce_axes {
    int rank;
    int64_t dim[REDUCE_RANK], stride[REDUCE_RANK];
    int64_t count; /* positions of all axes here */
} reduce_axes;

typedef struct reduce_space {
    reduce_axes kept, reduced; /* without the last axis */
    bool last_reduced;
    int64_t last; /* size of the last axis */
} reduce_space;

/* Of a node that reduces x to y: ReduceX, SumTo, or ReduceProdBwd, whose x comes second. */
struct graph_node;
struct graph_shape;
void reduce_space_of(const struct graph_node *n, const struct graph_shape *x,
                     const struct graph_shape *y, reduce_space *ret);

/* Elements that fall together into one of the result. */
INLINE int64_t reduce_depth(const reduce_space *s)
{
    return s->reduced.count * (s->last_reduced ? s->last : 1);
}

/* Elements of the result. */
INLINE int64_t reduce_width(const reduce_space *s)
{
    return s->kept.count * (s->last_reduced ? 1 : s->last);
}

/* Where a position of these axes begins in the input. */
INLINE int64_t reduce_offset(const reduce_axes *a, int64_t position)
{
    int64_t offset = 0;
    for (int i = a->rank - 1; i > 0; i--) {
        offset += position % a->dim[i] * a->stride[i];
        position /= a->dim[i];
    }
    return a->rank > 0 ? offset + position * a->stride[0] : offset;
}

/* Element i of those that fall into element `result`. */
INLINE int64_t reduce_element(const reduce_space *s, int64_t result, int64_t i)
{
    if (s->last_reduced)
        return reduce_offset(&s->kept, result) + reduce_offset(&s->reduced, i / s->last) +
               i % s->last;
    return reduce_offset(&s->kept, result / s->last) + result % s->last +
           reduce_offset(&s->reduced, i);
}

#endif
