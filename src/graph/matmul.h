/*
 * MATMUL by its shapes: products of matrices, as many as the axes in front say. Pure functions.
 */
#ifndef TEQUIO_GRAPH_MATMUL_H
#define TEQUIO_GRAPH_MATMUL_H

#include "graph/attrs.h"

/* A vector as the matrix it stands for: a row on the left, a column on the right. */
graph_shape matmul_matrix(const graph_shape *s, bool left);

/* y[b] [m,n] = a[b] [m,k] b[b] [k,n], where factors may lie transposed. */
typedef struct matmul_shape {
    int64_t m, n, k;
    bool trans_a, trans_b;
    int64_t a_pitch, b_pitch; /* elements from row to row, as they lie */
    int64_t batches;
    int32_t rank; /* their axes, as y has them; none if all are one tall product */
    int64_t dim[GRAPH_RANK];
    int64_t a_step[GRAPH_RANK], b_step[GRAPH_RANK], y_step[GRAPH_RANK]; /* elements along each
                                                                         * axis; 0: broadcast */
} matmul_shape;

matmul_shape matmul_shape_of(const graph_shape *a, const graph_shape *b, const matmul_attr *attr);

/* Where batch i begins, in elements; `step` is a_step, b_step or y_step. */
int64_t matmul_begin(const matmul_shape *s, const int64_t *step, int64_t i);

#endif
