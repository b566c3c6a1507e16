/* A matmul of the cuBLASLt that is played: what lt.c has checked and lt_matmul.c computes. */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_LT_MATMUL_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_LT_MATMUL_H

#include "backend/cuda/library/abi.h"

#include <stdbool.h>
#include <stdint.h>

enum { LEFT, RIGHT, BASE, RESULT, OPERANDS }; /* A, B, C, D */

/* A matmul, all but addresses. Without padding: it is compared as bytes. */
typedef struct lt_problem {
    uint64_t compute, epilogue, transposed[2];
    uint64_t type[OPERANDS], rows[OPERANDS], columns[OPERANDS];
    int64_t pitch[OPERANDS], stride[OPERANDS], count;
    int64_t side_pitch, side_stride; /* of a matrix as D, if the epilogue has one */
    uint64_t m, n, k;
} lt_problem;

typedef struct lt_call {
    lt_problem p;
    float alpha, beta;
    uint64_t pieces;
    const void *left, *right, *base, *bias;
    void *result, *side;
    float *workspace;
    size_t workspace_bytes;
} lt_call;

bool lt_has_bias(const lt_problem *p);
/* A matrix beside: written by Gelu, read by its gradient. */
bool lt_has_side(const lt_problem *p);
bool lt_is_gradient(const lt_problem *p);
/* Bytes from the first to the last element of an operand. */
size_t lt_extent(const lt_problem *p, int which);
size_t lt_side_extent(const lt_problem *p);
size_t lt_element(uint64_t type);

/* As a kernel of one thread; `arguments` is a lt_call. */
void lt_multiply(void *arguments);

#endif
