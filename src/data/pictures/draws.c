#include "data/pictures/draws.h"

static uint64_t number_of(const picture_draws *d, int draw)
{
    return (uint64_t)d->place * PICTURE_DRAWS + (uint64_t)draw;
}

double picture_draw_between(const picture_draws *d, int draw, double low, double high)
{
    return low + (high - low) * (double)rng_uniform(&d->numbers, number_of(d, draw));
}

int32_t picture_draw_below(const picture_draws *d, int draw, int32_t bound)
{
    return (int32_t)rng_below(&d->numbers, number_of(d, draw), (uint64_t)bound);
}
