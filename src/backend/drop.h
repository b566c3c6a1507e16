/*
 * Dropout's mask: element e is kept if word e of the Philox stream (seed, RNG_DROPOUT,
 * rng_mix(stream, batch id)) is at least a threshold, so any lane of any kind draws the same mask
 * for the same batch, in any order and pieces. Ratios are in [0, 1). Pure functions.
 */
#ifndef TEQUIO_BACKEND_DROP_H
#define TEQUIO_BACKEND_DROP_H

#include <stdint.h>

static inline uint32_t drop_threshold(float ratio)
{
    double words = (double)ratio * 0x1p32;
    uint32_t ret = (uint32_t)words; /* a ratio below 1 leaves room for one more */
    return (double)ret < words ? ret + 1 : ret;
}

/* Of what is kept. */
static inline float drop_scale(float ratio)
{
    return 1.0f / (1.0f - ratio);
}

#endif
