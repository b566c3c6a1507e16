/*
 * Sorts examples by their lengths, each multiplied by a random factor of 1 - noise to 1 + noise, and those of one
 * length by their numbers. The factor of an example is a pure function of the draws, so it is worked out again wherever
 * it is needed: beside the numbers that are sorted, in place, nothing is kept.
 *
 * Threads: a pure function.
 */
#ifndef TEQUIO_DATA_NOISY_SORT_H
#define TEQUIO_DATA_NOISY_SORT_H

#include "common/base/rng.h"

typedef struct noisy_lengths {
    rng draws;
    double noise;               /* 0 .. 1 */
    const uint32_t *lengths;
} noisy_lengths;

/* examples[n], unlike numbers. */
void noisy_sort(const noisy_lengths *by, uint32_t *examples, int64_t n);

#endif
