/* Random decisions: a stream of them for every number, the same wherever it is drawn. */
#ifndef TEQUIO_TESTS_DIFFERENTIAL_DICE_H
#define TEQUIO_TESTS_DIFFERENTIAL_DICE_H

#include "common/base/rng.h"

#include <stdbool.h>

typedef struct dice {
    rng stream;
    uint64_t n; /* drawn so far */
} dice;

static inline dice dice_make(uint64_t seed, uint64_t number)
{
    return (dice){.stream = rng_make(seed, RNG_TEST, number)};
}

/* low .. high, both included */
static inline int64_t dice_int(dice *d, int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(&d->stream, d->n++, (uint64_t)(high - low + 1));
}

static inline bool dice_chance(dice *d, int percent)
{
    return dice_int(d, 0, 99) < percent;
}

/* A float's value in [low, high). */
static inline double dice_real(dice *d, double low, double high)
{
    return (double)(float)(low + (high - low) * (double)rng_uniform(&d->stream, d->n++));
}

static inline double dice_normal(dice *d)
{
    return (double)rng_normal(&d->stream, d->n++);
}

/* One of a list. */
#define DICE_OF(d, list) ((list)[dice_int((d), 0, (int64_t)COUNT_OF(list) - 1)])

#endif
