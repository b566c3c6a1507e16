/*
 * What is drawn for one example: pure functions of (seed, batch id, place in the batch), so any lane draws the same.
 * Threads: pure functions.
 */
#ifndef TEQUIO_DATA_PICTURES_DRAWS_H
#define TEQUIO_DATA_PICTURES_DRAWS_H

#include "common/base/rng.h"

/* Which draws are whose. Their numbers are part of the result and never change. */
enum {
    DRAW_PART = 0,                  /* random_resized_crop: 10 tries of 4 */
    DRAW_POLICY = 40,               /* an operation, its bin, its sign: of 8 operations */
    DRAW_ORDER = 64,                /* color_jitter: which change comes first */
    DRAW_FACTORS = 68,              /* and by how much, of 4 changes */
    DRAW_CHANCE = 72,               /* random_erasing: whether */
    DRAW_WINDOW = 73,               /* random_crop: x and y */
    DRAW_ERASED = 76,               /* random_erasing: 10 tries of 4 */
    DRAW_CLIP = 116,                /* random_clip: the first frame */
    PICTURE_DRAWS = 128
};

/* Whose draws: `numbers` is (seed, RNG_PICTURE, batch id), `place` the example's in the batch. */
typedef struct picture_draws {
    rng numbers;
    int64_t place;
} picture_draws;

double picture_draw_between(const picture_draws *d, int draw, double low, double high);
int32_t picture_draw_below(const picture_draws *d, int draw, int32_t bound);

#endif
