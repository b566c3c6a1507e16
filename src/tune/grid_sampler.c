/* The next of all combinations. */
#include "tune/sampler.h"

static status check_grid(const space *s, error *err)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i].kind == SPACE_DOUBLE)
            return FAIL(err, E_CONFIG, "'%s' is a DOUBLE, which has no end of values for a grid: make it DISCRETE, or "
                        "choose another algorithm", s->at[i].name);
    return OK;
}

/* The last parameter turns fastest. False: there are not so many. */
static bool combination(const study *s, int64_t rest, double *ret_point)
{
    for (int i = s->space->n - 1; i >= 0; i--) {
        const space_parameter *p = &s->space->at[i];
        int64_t values = space_parameter_values(p);
        ret_point[i] = (double)(rest % values) + (p->kind == SPACE_INTEGER ? p->min : 0);
        rest /= values;
    }
    return rest == 0;
}

/* Of a search that begins with another's trials, the first one that is not among them. */
static bool propose_grid(const study *s, uint64_t seed, double *ret_point)
{
    (void)seed;
    int64_t i = s->n_priors ? 0 : s->n;
    bool is_there = combination(s, i, ret_point);
    while (is_there && s->n_priors && study_has(s, ret_point))
        is_there = combination(s, ++i, ret_point);
    return is_there;
}

const sampler sampler_grid = {
    .name = "grid",
    .about = "all combinations, in their order",
    .check = check_grid,
    .propose = propose_grid,
};
