/*
 * A box of elements, copied or added from one strided place to another: what is left of a
 * transpose, a slice or a broadcast when axes that move together have been merged into one.
 *
 * Axes are added from the outermost to the innermost, in the order of the destination; then
 * box_finish picks how to walk. Runs that are contiguous on both sides go by memcpy, transposes by
 * tiles, and no loop over elements computes an index.
 *
 * Threads: a finished box is read only; copying uses the lane's team.
 */
#ifndef TEQUIO_BACKEND_CPU_BOX_H
#define TEQUIO_BACKEND_CPU_BOX_H

#include "graph/graph.h"

typedef enum box_walk {
    BOX_RUNS,      /* the last axis is contiguous on both sides */
    BOX_STRIDED,   /* it has a stride on one side at least */
    BOX_TRANSPOSE, /* a matrix turns: contiguous are the last axis there and the one before here */
} box_walk;

typedef struct box {
    int rank;
    int64_t dim[GRAPH_RANK], to[GRAPH_RANK], from[GRAPH_RANK]; /* strides, in elements */
    box_walk walk;
    int inner;              /* axes of a row: the last, or the last two */
    int cut;                /* the axis along which a row is cut into pieces */
    int64_t rows, pieces;   /* pieces of a row */
    int64_t length, volume; /* of a piece: elements along `cut`, and in all */
} box;

/* An axis of `dim` elements, beginning with a box of zeros. Strides may be 0 (from) and negative.
 * Of 0 elements nothing is copied. */
void box_axis(box *b, int64_t dim, int64_t to, int64_t from);
void box_finish(box *b);

/* `to` and `from` point at the box's first element and do not overlap; `element` is 1, 2, 4 or 8
 * bytes. */
void box_copy(const box *b, void *to, const void *from, size_t element);

/* The same with to[] += from[]; the destination has no stride 0. */
void box_add(const box *b, float *to, const float *from);

/* Strides of a row-major tensor. */
void box_row_major(const graph_shape *s, int64_t *ret);

#endif
