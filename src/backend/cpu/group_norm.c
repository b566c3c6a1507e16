/*
 * GroupNormalization and InstanceNormalization (a group a channel), in the layout of the input. One
 * sample after the other, so that its passes find it in the cache; samples are dealt to threads.
 */
#include "backend/cpu/planes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <string.h>

typedef struct group_norm_state {
    planes p;
    int64_t groups, per_group; /* channels of a group */
    double count;              /* elements of a group */
    double epsilon;
} group_norm_state;

enum { DOUBLES = 2, FLOATS = 4 }; /* rows of `padded` entries that a sample needs */

typedef struct group_norm_task {
    const group_norm_state *s;
    const float *x, *scale, *bias, *dy, *mean, *inverse;
    float *y, *dx, *made_mean, *made_inverse;
    double *sums;  /* [batch,DOUBLES,padded] */
    float *floats; /* [batch,FLOATS,padded] */
} group_norm_task;

static double *sums_of(const group_norm_task *t, int64_t n, int row)
{
    return t->sums + (n * DOUBLES + row) * t->s->p.padded;
}

static float *floats_of(const group_norm_task *t, int64_t n, int row)
{
    return t->floats + (n * FLOATS + row) * t->s->p.padded;
}

static double group_sum(const group_norm_state *s, const double *by_channel, int64_t group)
{
    double sum = 0.0;
    for (int64_t c = group * s->per_group; c < (group + 1) * s->per_group; c++)
        sum += by_channel[c];
    return sum;
}

/* A float of every group, said for every channel. */
static void to_channels(const group_norm_state *s, const float *by_group, float *ret)
{
    memset(ret, 0, (size_t)s->p.padded * sizeof *ret);
    for (int64_t c = 0; c < s->p.channels; c++)
        ret[c] = by_group[c / s->per_group];
}

static void find_moments(const group_norm_task *t, int64_t n, float *mean, float *inverse)
{
    const group_norm_state *s = t->s;
    const planes *p = &s->p;
    double *sums = sums_of(t, n, 0);
    float *means = floats_of(t, n, 0);
    for (int64_t b = 0; b < p->blocks; b++)
        planes_sum(t->x + planes_offset(p, n, b), p->run, p->block, sums + b * p->block);
    for (int64_t g = 0; g < s->groups; g++)
        mean[g] = (float)(group_sum(s, sums, g) / s->count);
    to_channels(s, mean, means);
    for (int64_t b = 0; b < p->blocks; b++)
        planes_sum_squares(t->x + planes_offset(p, n, b), means + b * p->block, p->run, p->block,
                           sums + b * p->block);
    for (int64_t g = 0; g < s->groups; g++)
        inverse[g] = (float)(1.0 / det_sqrt(group_sum(s, sums, g) / s->count + s->epsilon));
}

static void normalise_samples(int64_t begin, int64_t end, void *arg)
{
    const group_norm_task *t = arg;
    const group_norm_state *s = t->s;
    const planes *p = &s->p;
    for (int64_t n = begin; n < end; n++) {
        float *mean = t->made_mean + n * s->groups, *inverse = t->made_inverse + n * s->groups;
        float *a = floats_of(t, n, 1), *b = floats_of(t, n, 2);
        find_moments(t, n, mean, inverse);
        memset(b, 0, (size_t)p->padded * sizeof *b);
        to_channels(s, inverse, a);
        for (int64_t c = 0; c < p->channels; c++) {
            a[c] *= t->scale[c];
            b[c] = t->bias[c] - mean[c / s->per_group] * a[c];
        }
        for (int64_t k = 0; k < p->blocks; k++)
            planes_affine(t->y + planes_offset(p, n, k), t->x + planes_offset(p, n, k),
                          a + k * p->block, b + k * p->block, p->run, p->block);
    }
}

/* dx = inverse (scale dy - mean of scale dy - normalised x * mean of scale dy normalised x) */
static void find_gradients(const group_norm_task *t, int64_t n)
{
    const group_norm_state *s = t->s;
    const double *dy = sums_of(t, n, 0), *product = sums_of(t, n, 1);
    const float *mean = t->mean + n * s->groups, *inverse = t->inverse + n * s->groups;
    float *a = floats_of(t, n, 1), *b = floats_of(t, n, 2), *c = floats_of(t, n, 3);
    memset(a, 0, 3 * (size_t)s->p.padded * sizeof *a);
    for (int64_t g = 0; g < s->groups; g++) {
        double dy_sum = 0.0, product_sum = 0.0, inv = (double)inverse[g];
        int64_t first = g * s->per_group;
        for (int64_t i = first; i < first + s->per_group; i++) {
            dy_sum += (double)t->scale[i] * dy[i];
            product_sum += (double)t->scale[i] * product[i];
        }
        double by_x = -inv * inv * inv * product_sum / s->count;
        double constant = -inv * dy_sum / s->count - by_x * (double)mean[g];
        for (int64_t i = first; i < first + s->per_group; i++) {
            a[i] = (float)inv * t->scale[i];
            b[i] = (float)by_x;
            c[i] = (float)constant;
        }
    }
}

static void differentiate_samples(int64_t begin, int64_t end, void *arg)
{
    const group_norm_task *t = arg;
    const planes *p = &t->s->p;
    for (int64_t n = begin; n < end; n++) {
        float *means = floats_of(t, n, 0);
        to_channels(t->s, t->mean + n * t->s->groups, means);
        for (int64_t k = 0; k < p->blocks; k++)
            planes_sum_products(t->dy + planes_offset(p, n, k), t->x + planes_offset(p, n, k),
                                means + k * p->block, p->run, p->block,
                                sums_of(t, n, 0) + k * p->block, sums_of(t, n, 1) + k * p->block);
        if (!t->dx)
            continue;
        find_gradients(t, n);
        for (int64_t k = 0; k < p->blocks; k++)
            planes_affine_2(t->dx + planes_offset(p, n, k), t->dy + planes_offset(p, n, k),
                            t->x + planes_offset(p, n, k), floats_of(t, n, 1) + k * p->block,
                            floats_of(t, n, 2) + k * p->block, floats_of(t, n, 3) + k * p->block,
                            p->run, p->block);
    }
}

static void sum_over_samples(const group_norm_task *t, float *dscale, float *dbias)
{
    const group_norm_state *s = t->s;
    for (int64_t c = 0; c < s->p.channels; c++) {
        double scale = 0.0, bias = 0.0;
        for (int64_t n = 0; n < s->p.batch; n++) {
            bias += sums_of(t, n, 0)[c];
            scale += sums_of(t, n, 1)[c] * (double)t->inverse[n * s->groups + c / s->per_group];
        }
        if (dscale)
            dscale[c] = (float)scale;
        if (dbias)
            dbias[c] = (float)bias;
    }
}

static size_t sums_bytes(const planes *p)
{
    return size_round_up((size_t)(p->batch * DOUBLES * p->padded) * sizeof(double), MEM_ALIGN);
}

static void place_scratch(group_norm_task *t, void *scratch)
{
    t->sums = scratch;
    t->floats = (float *)((char *)scratch + sums_bytes(&t->s->p));
}

static void run_norm(const cpu_node *n, const cpu_call *c)
{
    const group_norm_state *s = n->state;
    group_norm_task t = {.s = s,
                         .x = c->in[0],
                         .scale = c->in[1],
                         .bias = c->in[2],
                         .y = c->out[0],
                         .made_mean = c->out[1],
                         .made_inverse = c->out[2]};
    place_scratch(&t, c->scratch);
    team_for(s->p.batch, 1, normalise_samples, &t);
}

static void run_norm_bwd(const cpu_node *n, const cpu_call *c)
{
    const group_norm_state *s = n->state;
    group_norm_task t = {.s = s,
                         .x = c->in[0],
                         .scale = c->in[1],
                         .mean = c->in[2],
                         .inverse = c->in[3],
                         .dy = c->in[4],
                         .dx = c->out[0]};
    place_scratch(&t, c->scratch);
    team_for(s->p.batch, 1, differentiate_samples, &t);
    sum_over_samples(&t, c->out[1], c->out[2]);
}

status cpu_plan_group_norm(cpu_node *n)
{
    bool backward = n->node->op == OP_GROUP_NORMALIZATION_BWD;
    const group_norm_attr *a = n->node->attr;
    group_norm_state *s = node_runs(n, backward ? run_norm_bwd : run_norm, sizeof *s);
    const shim_layout *x = n->program->layout[n->node->in[0]];
    if (!planes_of(x, &s->p))
        TRY(layout_plain(n->program, &node_in(n, 0)->shape, &x, n->err));
    if (!planes_of(x, &s->p))
        return FAIL(n->err, E_UNSUPPORTED, "its input has no channels that lie in runs");
    s->groups = a->groups;
    s->per_group = s->p.channels / s->groups;
    s->count = (double)(s->p.run / s->p.block * s->per_group);
    s->epsilon = (double)a->epsilon;
    n->scratch_bytes =
        sums_bytes(&s->p) + (size_t)(s->p.batch * FLOATS * s->p.padded) * sizeof(float);
    n->in[0].want = n->out[0].want = x;
    if (backward)
        n->in[4].want = x;
    return OK;
}
