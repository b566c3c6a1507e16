/*
 * Numbers by chance for samplers, from a seed and how many were drawn before. Threads: one at a time.
 */
#ifndef TEQUIO_TUNE_DRAW_H
#define TEQUIO_TUNE_DRAW_H

#include "common/base/rng.h"

#include <math.h>

typedef struct draw {
    uint64_t seed, n;
} draw;

/* [0, 1), 53 bits. */
static inline double draw_uniform(draw *d)
{
    return (double)(rng_mix(d->seed, d->n++) >> 11) * 0x1p-53;
}

/* Mean 0, deviation 1. */
static inline double draw_normal(draw *d)
{
    double radius = sqrt(-2.0 * log(1.0 - draw_uniform(d)));
    return radius * cos(6.283185307179586 * draw_uniform(d));
}

#endif
