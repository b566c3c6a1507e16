/*
 * Resize and its gradient, and the gradient of padding with what is there, as passes: axis by axis,
 * each a sparse matrix (graph/taps.h) over [outer, n, inner].
 *
 * Ownership: in the arena that is given. Threads: pure functions.
 */
#ifndef TEQUIO_BACKEND_PASSES_H
#define TEQUIO_BACKEND_PASSES_H

#include "graph/taps.h"

typedef struct pass {
    taps t;
    int64_t outer, inner;
} pass;

typedef struct passes {
    int n;
    pass pass[GRAPH_RANK];
    float outside; /* an output without taps */
    size_t buffer; /* elements of each of two buffers between passes */
} passes;

/* Rows that are not worth a loop of their own: their sums begin with zero, others with a term. */
static inline bool pass_is_narrow(const pass *p)
{
    return p->inner < 8;
}

/* Adds the pass of an axis; `now` is the shape at that point, and changes with it. */
static inline void passes_add(passes *s, taps t, graph_shape *now, int32_t axis)
{
    pass *p = &s->pass[s->n++];
    *p = (pass){.t = t, .outer = 1, .inner = 1};
    for (int32_t i = 0; i < axis; i++)
        p->outer *= now->dim[i];
    for (int32_t i = axis + 1; i < now->rank; i++)
        p->inner *= now->dim[i];
    now->dim[axis] = t.n_out;
    size_t elements = (size_t)graph_shape_elements(now);
    s->buffer = elements > s->buffer ? elements : s->buffer;
}

static inline bool passes_move_axis(const graph_node *n, int32_t axis)
{
    if (n->op == OP_PAD_BWD) {
        const pad_attr *a = n->attr;
        return a->pads[axis] != 0 || a->pads[a->x.rank + axis] != 0;
    }
    const resize_attr *a = n->attr;
    return a->sizes[axis] != a->x.dim[axis] || a->scales[axis] != 1 ||
           a->coordinates == RESIZE_CROP;
}

static inline taps passes_taps_of(arena *a, const graph_node *n, int32_t axis)
{
    if (n->op == OP_RESIZE)
        return taps_of_resize(a, n->attr, axis);
    taps forward =
        n->op == OP_PAD_BWD ? taps_of_pad(a, n->attr, axis) : taps_of_resize(a, n->attr, axis);
    return taps_transposed(a, &forward);
}

/* From x to y, the shapes of the node's input and output. What grows does so last, and behind
 * first: so the passes before it see little. */
static inline passes passes_of(arena *a, const graph_node *n, const graph_shape *x,
                               const graph_shape *y)
{
    passes s = {.n = 0};
    graph_shape now = *x;
    bool grows = graph_shape_elements(y) > graph_shape_elements(x);
    for (int32_t k = 0; k < y->rank; k++) {
        int32_t axis = grows ? y->rank - 1 - k : k;
        if (passes_move_axis(n, axis))
            passes_add(&s, passes_taps_of(a, n, axis), &now, axis);
    }
    if (n->op == OP_RESIZE)
        s.outside = ((const resize_attr *)n->attr)->outside;
    return s;
}

#endif
