#include "optim/lr_schedule.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <string.h>

static const char *const names[] = {
    [LR_SCHEDULE_CONSTANT] = "constant",
    [LR_SCHEDULE_STEP] = "step",
    [LR_SCHEDULE_COSINE] = "cosine",
    [LR_SCHEDULE_LINEAR] = "linear",
    [LR_SCHEDULE_SLANTED_TRIANGULAR] = "slanted_triangular",
};

bool lr_schedule_kind_of(const char *name, lr_schedule_kind *ret)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (lr_schedule_kind)i;
            return true;
        }
    return false;
}

const char *lr_schedule_name(lr_schedule_kind kind)
{
    return names[kind];
}

bool lr_schedule_equal(const lr_schedule *a, const lr_schedule *b)
{
    bool has_end = a->kind != LR_SCHEDULE_CONSTANT && a->kind != LR_SCHEDULE_STEP;
    return !has_end || a->total_steps == b->total_steps;
}

static double slanted_triangular(const lr_schedule *s, int64_t at, int64_t n)
{
    int64_t cut = (int64_t)((double)n * s->cut_fraction);
    double p = 1.0;
    if (at < cut)
        p = (double)at / (double)cut;
    else if (n > cut)
        p = 1.0 - (double)(at - cut) / (double)(n - cut);
    return s->base * (1.0 + p * (s->ratio - 1.0)) / s->ratio;
}

/* The rate after the warm-up, at = 0 .. n. */
static double rate_at(const lr_schedule *s, int64_t at, int64_t n)
{
    double share = (double)at / (double)n, rate;
    switch (s->kind) {
    case LR_SCHEDULE_COSINE:
        return s->minimum + (s->base - s->minimum) * (1.0 + det_cos_pi(share)) / 2.0;
    case LR_SCHEDULE_LINEAR:
        rate = s->base * (1.0 - share);
        return rate > s->minimum ? rate : s->minimum;
    case LR_SCHEDULE_SLANTED_TRIANGULAR:
        return slanted_triangular(s, at, n);
    default:
        return s->base;
    }
}

float lr_schedule_rate(const lr_schedule *s, int64_t step)
{
    if (step < 0)
        step = 0;
    if (step < s->warmup_steps)
        return (float)(s->base * ((double)step + 1.0) / ((double)s->warmup_steps + 1.0));
    int64_t at = step - s->warmup_steps, n = s->total_steps - s->warmup_steps;
    double rate = s->base;
    if (n > 0 && at > n)
        at = n;
    if (s->kind == LR_SCHEDULE_STEP)
        rate = s->step_size > 0 ? s->base * det_pow(s->gamma, (double)(at / s->step_size)) : rate;
    else if (n > 0)
        rate = rate_at(s, at, n);
    return rate > 0 ? (float)rate : 0.0f;
}
