/*
 * A tensor taken apart at one axis: [outer, n, inner], row-major. What a kernel needs to know of
 * the shape of an operator that works along an axis, on every backend. Pure function.
 */
#ifndef TEQUIO_GRAPH_AXIS_SPLIT_H
#define TEQUIO_GRAPH_AXIS_SPLIT_H

#include "graph/graph.h"

typedef struct axis_split {
    int64_t outer, n, inner;
} axis_split;

/* `axis` is one of the shape's, 0 .. rank-1. */
axis_split axis_split_of(const graph_shape *s, int32_t axis);

#endif
