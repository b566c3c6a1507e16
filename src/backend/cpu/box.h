/*
 * A box of elements, copied or added from one strided place to another: what is left of a
 * transpose, a slice or a broadcast when axes that move together have been merged into one
 * (axes_of.h).
 *
 * box_of picks how to walk. Runs that are contiguous on both sides go by memcpy, transposes by
 * tiles, and no loop over elements computes an index.
 *
 * Threads: a finished box is read only; copying uses the lane's team.
 */
#ifndef TEQUIO_BACKEND_CPU_BOX_H
#define TEQUIO_BACKEND_CPU_BOX_H

#include "backend/axes.h"

#include <stddef.h>

typedef enum box_walk {
    BOX_RUNS,      /* the last axis is contiguous on both sides */
    BOX_STRIDED,   /* it has a stride on one side at least */
    BOX_TRANSPOSE, /* a matrix turns: contiguous are the last axis there and the one before here */
} box_walk;

typedef struct box {
    int rank;
    int64_t dim[AXES_MOST], to[AXES_MOST], from[AXES_MOST]; /* strides, in elements */
    box_walk walk;
    int inner;              /* axes of a row: the last, or the last two */
    int cut;                /* the axis along which a row is cut into pieces */
    int64_t rows, pieces;   /* pieces of a row */
    int64_t length, volume; /* of a piece: elements along `cut`, and in all */
} box;

/* Operand 0 is where elements go, in the order of the axes; operand 1 where they come from. Strides
 * may be 0 (from) and negative. Of 0 elements nothing is copied. */
void box_of(box *ret, const axes *a);

/* `to` and `from` point at the box's first element and do not overlap; `element` is 1, 2, 4 or 8
 * bytes. */
void box_copy(const box *b, void *to, const void *from, size_t element);

/* The same with to[] += from[]; the destination has no stride 0. */
void box_add(const box *b, float *to, const float *from);

#endif
