/*
 * Matmuls on our own kernels: what tile.cu (matrices) is asked for; conv.h is about convolutions.
 * Plain data, filled by a planner once and read at every launch; C and C++.
 *
 * A sum runs over ascending k, in float32. On one model of chip its bits depend on the factors, the
 * kind of matmul, k and `pieces` alone, not on alignment, tiles or the other sizes; and, of a
 * convolution, on the order of its taps: channels within positions where images lie so, otherwise
 * positions within channels.
 *
 * Limits, the planner's to check: every count of rows, columns, k, pixels of a whole batch, and
 * every coordinate of a padded image is below 2^31 - 1024, and so is the number of blocks. Offsets
 * are 64 bits.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TILE_H
#define TEQUIO_BACKEND_CUDA_KERNELS_TILE_H

#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"
#include "common/base/inline.h"

/* How factors are multiplied, and how they lie. */
typedef enum tile_kind {
    TILE_F32,  /* DT_F32, on any chip */
    TILE_TF32, /* DT_F32, rounded to TF32 (to nearest, ties away from zero) for the tensor
                * cores of sm_80 and later */
    TILE_BF16, /* DT_BF16, likewise from sm_80 on */
    TILE_F16,  /* DT_F16, from sm_75 on */
} tile_kind;

/* What becomes of a sum last, in the words of backend/unary_math.def. A gradient is that of a
 * function whose result's gradient the matmul is. Of matrices alone: convolutions end as they are.
 */
typedef enum tile_function {
    TILE_AS_IT_IS,
    TILE_RELU, /* a NaN stays */
    TILE_GELU,
    TILE_GELU_BY_TANH,
    TILE_RELU_BWD, /* side: what Relu made; of the others what they read */
    TILE_GELU_BWD,
    TILE_GELU_BY_TANH_BWD,
} tile_function;

INLINE bool tile_is_gradient(tile_function f)
{
    return f >= TILE_RELU_BWD;
}

/* How a sum becomes an element of y: f(alpha * sum + beta * c), rounded once, to y's type. y may be
 * c. */
typedef struct tile_end {
    float alpha, beta; /* as they are: 0 is 0 */
    const void *c;     /* NULL: none; a scalar, row, column or matrix by its strides */
    dtype c_type;
    int64_t c_batch, c_row, c_column; /* elements */
    tile_function function;
    void *side; /* lies as y does. A gradient reads it; another function leaves there what it reads,
                 * with NULL nowhere */
    dtype side_type;
} tile_end;

/* How the work is cut. */
typedef struct tile_cut {
    bool wide;      /* gemm: a block makes 128 x 128 of y, otherwise 64 x 64 */
    int64_t pieces; /* k is cut into so many, summed one after another; 1: none, >= 1 */
    float *parts;   /* device memory for their sums if pieces > 1: tile_parts of floats */
} tile_cut;

/* The floats that `parts` needs for y [batches, rows, columns]. */
static inline int64_t tile_parts(int64_t pieces, int64_t batches, int64_t rows, int64_t columns)
{
    return pieces > 1 ? pieces * batches * rows * columns : 0;
}

/* A matrix for each batch, in elements: [i,k] of batch b at b * batch + i * row + k * column. A
 * transposed factor has row 1. */
typedef struct tile_matrix {
    const void *data; /* aligned to a factor; what 16 bytes divide is read faster */
    int64_t row, column, batch;
} tile_matrix;

/* y[b] [m,n] = f(alpha * a[b] [m,k] b[b] [k,n] + beta * c[b]); y's columns lie side by side */
typedef struct gemm_task {
    tile_kind kind;
    int64_t batches, m, n, k;
    tile_matrix a, b;
    void *y;
    dtype y_type;
    int64_t y_row, y_batch; /* elements from row to row, from batch to batch */
    tile_end end;
    tile_cut cut;
} gemm_task;

#ifdef __cplusplus
extern "C" {
#endif

/* y = f(alpha * a b + beta * c), batch by batch */
void launch_gemm(cuda_stream stream, const gemm_task *t);

#ifdef __cplusplus
}
#endif

#endif
