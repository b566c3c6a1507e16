/*
 * Dropout's mask (backend/drop.h), drawn by the generator of common/base/rng.h, Philox4x32-10, many
 * counters at a time.
 * Threads: pure functions.
 */
#ifndef TEQUIO_BACKEND_CPU_DROP_MASK_H
#define TEQUIO_BACKEND_CPU_DROP_MASK_H

#include "common/base/rng.h"

typedef struct drop_mask {
    rng stream;
    uint32_t threshold; /* kept if the word is at least this */
    float scale;        /* of what is kept: 1 / (1 - ratio) */
} drop_mask;

drop_mask drop_mask_make(float ratio, uint64_t seed, uint64_t stream, int64_t batch);

/* ret[i] is 1 if element first + i is kept, else 0. */
void drop_mask_fill(const drop_mask *m, uint64_t first, int64_t n, uint8_t *ret);

#endif
