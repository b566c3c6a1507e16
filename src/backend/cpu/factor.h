/*
 * Factors of matmuls: how operands lie that are to be multiplied in bfloat16.
 *
 * The graph gives such an operand the type bfloat16. On a processor that gains by multiplying
 * bfloat16 it lies as such. On any other it lies as float32, rounded to the nearest bfloat16: the
 * product of two of them has at most 16 significant bits and is exact in float32, so that float32's
 * kernels compute what bfloat16's would, up to the order of sums, at float32's speed. Threads: pure
 * functions.
 */
#ifndef TEQUIO_BACKEND_CPU_FACTOR_H
#define TEQUIO_BACKEND_CPU_FACTOR_H

#include "graph/graph.h"

typedef enum factor_form {
    FACTOR_FLOAT,   /* float32, not rounded */
    FACTOR_BF16,    /* bfloat16 */
    FACTOR_ROUNDED, /* float32 of bfloat16's values */
} factor_form;

/* How a value of this type lies on this processor. */
factor_form factor_form_of(dtype type);

size_t factor_bytes(factor_form form); /* of an element */

/* Rounds to nearest, ties to even; NaN stays NaN. y: n elements in `form`, which rounds; it may be
 * x itself if they lie as floats. */
void factor_round(void *y, const float *x, int64_t n, factor_form form);

/* The same by the whole team; call from the thread that opened the backend. */
void factor_round_by_team(void *y, const float *x, int64_t n, factor_form form);

#endif
