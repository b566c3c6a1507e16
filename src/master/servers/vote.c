#include "master/servers/vote.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <stdlib.h>
#include <string.h>

struct vote {
    int64_t step;
    int32_t n_parts, missing;
    double max_norm, norm;
    double *sums;
    bool *is_in;
};

vote *vote_create(int32_t n_live_parts, double max_norm)
{
    vote *v = xcalloc(1, sizeof *v);
    v->n_parts = n_live_parts;
    v->max_norm = max_norm;
    v->sums = xcalloc((size_t)n_live_parts, sizeof *v->sums);
    v->is_in = xcalloc((size_t)n_live_parts, sizeof *v->is_in);
    vote_begin(v, 0);
    return v;
}

void vote_destroy(vote **v)
{
    if (!v || !*v)
        return;
    free((*v)->sums);
    free((*v)->is_in);
    free(*v);
    *v = NULL;
}

void vote_begin(vote *v, int64_t step)
{
    v->step = step;
    v->missing = v->n_parts;
    memset(v->is_in, 0, (size_t)v->n_parts * sizeof *v->is_in);
}

static float decide(vote *v)
{
    double sum = 0;
    for (int32_t p = 0; p < v->n_parts; p++)
        sum += v->sums[p];
    v->norm = det_sqrt(sum);
    double scale = v->max_norm / (v->norm + 1e-6);
    return scale < 1 ? (float)scale : 1.0f;
}

status vote_add(vote *v, int64_t step, int32_t part, double square_sum, bool *ret_complete,
                float *ret_scale, error *err)
{
    *ret_complete = false;
    if (step != v->step || part >= v->n_parts || v->is_in[part])
        return OK;
    if (square_sum - square_sum != 0)
        return FAIL(err, E_NONFINITE, "step %lld: the gradient of part %d is not finite",
                    (long long)step, part);
    v->sums[part] = square_sum;
    v->is_in[part] = true;
    if (--v->missing)
        return OK;
    *ret_scale = decide(v);
    *ret_complete = true;
    vote_begin(v, step + 1);
    return OK;
}

double vote_norm(const vote *v)
{
    return v->norm;
}
