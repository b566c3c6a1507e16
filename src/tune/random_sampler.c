/* The next trial by Sobol's sequence alone. */
#include "tune/sampler.h"
#include "tune/sobol.h"

static bool propose_random(const study *s, uint64_t seed, double *ret_point)
{
    double unit[SPACE_PARAMETERS_MOST];
    for (int i = 0; i < s->space->n; i++)
        unit[i] = sobol_scrambled(seed, (uint32_t)study_count_points(s), i);
    space_point(s->space, unit, ret_point);
    return true;
}

const sampler sampler_random = {
    .name = "random",
    .about = "points that fill the space evenly, by Sobol's sequence",
    .propose = propose_random,
};
