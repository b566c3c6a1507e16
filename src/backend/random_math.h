/*
 * From random words to numbers, for kernels of every kind: a word each for uniform ones; for normal
 * ones two neighbours make two, by Box and Muller (A note on the generation of random normal
 * deviates, 1958). Pure functions.
 */
#ifndef TEQUIO_BACKEND_RANDOM_MATH_H
#define TEQUIO_BACKEND_RANDOM_MATH_H

#include "backend/math.h"
#include "backend/wide.h"

/* In [0, 1), of 24 bits. */
INLINE float random_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Number `odd` of the pair that the words a and b make. The radius reaches 6.66. */
INLINE float random_normal(uint32_t a, uint32_t b, uint32_t odd)
{
    float u = ((float)a + 1.0f) * 0x1p-32f; /* (0, 1] */
    float square = -2.0f * vec_log(u);
    float radius = __builtin_sqrtf(square > 0.0f ? square : 0.0f);
    double angle = (double)b * 0x1.921fb54442d18p-30; /* a whole turn for 2^32 */
    return radius * (float)wide_sin_turned(angle, odd ^ 1);
}

#endif
