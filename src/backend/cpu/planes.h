/*
 * Images, signals and videos as runs of floats, for kernels that treat each channel in its own way.
 *
 * A value [N,C,spatial...] lies plain, or with its channels in blocks of 8 or 16 that are
 * innermost. Either way what one sample has of one block is a run of floats in which the channel of
 * float i is i % block (block 1 when plain). LANES is a multiple of every block, so one loop over
 * LANES columns, with coefficients repeated to LANES, serves all layouts. Channels that only pad a
 * block have coefficients of 0, so they stay zero.
 *
 * Sums run over LANES columns within pieces of PLANES_PIECE floats, then over the pieces in double.
 * Pure functions.
 */
#ifndef TEQUIO_BACKEND_CPU_PLANES_H
#define TEQUIO_BACKEND_CPU_PLANES_H

#include "backend/cpu/dnnl/shim.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct planes {
    int64_t batch, channels, blocks, block;
    int64_t run;    /* floats of one block of one sample */
    int64_t padded; /* channels with those that pad: blocks * block */
} planes;

enum { PLANES_BLOCK = 16, PLANES_PIECE = 4096 };

/* False where the channels lie otherwise. */
bool planes_of(const shim_layout *l, planes *ret);

/* Where the run of block b of sample n begins. */
static inline int64_t planes_offset(const planes *p, int64_t n, int64_t b)
{
    return (n * p->blocks + b) * p->run;
}

/* Per channel of a block, over a run of n floats; ret has `block` entries, as have coefficients. */
void planes_sum(const float *x, int64_t n, int64_t block, double *ret);
void planes_sum_squares(const float *x, const float *mean, int64_t n, int64_t block, double *ret);

/* sum dy and sum dy (x - mean) */
void planes_sum_products(const float *dy, const float *x, const float *mean, int64_t n,
                         int64_t block, double *ret_dy, double *ret_product);

/* y = a x + b */
void planes_affine(float *y, const float *x, const float *a, const float *b, int64_t n,
                   int64_t block);

/* dx = a dy + b x + c */
void planes_affine_2(float *dx, const float *dy, const float *x, const float *a, const float *b,
                     const float *c, int64_t n, int64_t block);

#endif
