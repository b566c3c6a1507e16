/* Matmuls of examples' models, and odd ones, for tests of what cuBLASLt makes of them. */
#ifndef TEQUIO_TESTS_CUDA_LT_MATMULS_H
#define TEQUIO_TESTS_CUDA_LT_MATMULS_H

#include "backend/cuda/plan/matmul.h"

typedef struct lt_row {
    const char *name;
    gemm_task t;
    size_t align;
    /* What the library says it was asked. What it calls a and b is ours transposed round, as is y.
     */
    const char *b, *a, *y, *sums, *aligned, *how;
} lt_row;

extern const lt_row lt_rows[];
extern const size_t n_lt_rows;

#endif
