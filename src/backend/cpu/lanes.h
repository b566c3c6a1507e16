/*
 * Sums over explicit lanes: LANES independent columns, added pairwise at the end. Every vector
 * width can follow this order, so a reduction has the same bits on all of them.
 * Pure functions.
 */
#ifndef TEQUIO_BACKEND_CPU_LANES_H
#define TEQUIO_BACKEND_CPU_LANES_H

#include "common/base/inline.h"
#include "common/base/simd.h"

#include <stdint.h>

enum { LANES = 16 };

/* LANES floats the compiler keeps in registers, of whatever width; vec16_at reads and writes them
 * at any float. */
typedef float vec16 __attribute__((vector_size(64)));
typedef float vec16_loose __attribute__((vector_size(64), aligned(4), may_alias));
#define vec16_at(p) (*(vec16_loose *)(uintptr_t)(p))

INLINE float lanes_sum(const float lane[LANES])
{
    float s[LANES];
    for (int j = 0; j < LANES; j++)
        s[j] = lane[j];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            s[j] += s[j + half];
    return s[0];
}

INLINE float lanes_max(const float lane[LANES])
{
    float m = lane[0];
    for (int j = 1; j < LANES; j++)
        m = lane[j] > m ? lane[j] : m;
    return m;
}

/* The sum of a row; call it from a function with SIMD_CLONES. */
INLINE float lanes_row_sum(const float *x, int64_t n)
{
    float lane[LANES] = {0};
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += x[i + j];
    for (int64_t i = whole; i < n; i++)
        lane[i - whole] += x[i];
    return lanes_sum(lane);
}

#endif
