#include "master/servers/vote.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <stdlib.h>
#include <string.h>

struct vote {
    int64_t step;
    int32_t n_parts, missing;
    double max_norm;
    loss_scale_rule scaling;
    double *sums;
    bool *is_in;
};

vote *vote_create(int32_t n_live_parts, double max_norm, const loss_scale_rule *scaling)
{
    vote *v = xcalloc(1, sizeof *v);
    v->n_parts = n_live_parts;
    v->max_norm = max_norm;
    v->scaling = *scaling;
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

static bool is_finite(double x)
{
    return x - x == 0;
}

static verdict vote_decide(const vote *v)
{
    double sum = 0;
    for (int32_t p = 0; p < v->n_parts; p++)
        sum += v->sums[p];
    if (!is_finite(sum))
        return (verdict){.scale = 1, .skip = true};
    double scale = v->max_norm / (det_sqrt(sum) + 1e-6);
    return (verdict){.scale = scale < 1 ? (float)scale : 1};
}

status vote_add(vote *v, int64_t step, const vote_part *p, bool *ret_complete, verdict *ret,
                error *err)
{
    *ret_complete = false;
    if (step != v->step || p->part >= v->n_parts || v->is_in[p->part])
        return OK;
    if (!is_finite(p->square_sum) && !loss_scale_can_fall(&v->scaling, p->scale))
        return FAIL(err, E_NONFINITE, "step %lld: the gradient of part %d is not finite%s",
                    (long long)step, p->part,
                    v->scaling.dynamic ? ", though the loss scale has fallen to 1" : "");
    v->sums[p->part] = p->square_sum;
    v->is_in[p->part] = true;
    if (--v->missing)
        return OK;
    *ret = vote_decide(v);
    *ret_complete = true;
    vote_begin(v, step + 1);
    return OK;
}
