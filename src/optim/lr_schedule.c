#include "optim/lr_schedule.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <string.h>

/* Units that are over. */
static int64_t units(const lr_schedule *s, int64_t at)
{
    return s->unit_steps > 1 ? at / s->unit_steps : at;
}

/* Half a cosine from `from` to `to`, at `share` of it. */
static double fall(double from, double to, double share)
{
    return to + (from - to) * (1.0 + det_cos_pi(share)) / 2.0;
}

/* --- curves: the rate after the warm-up, at = 0 .. n, and n > 0 where one ends --- */

static double constant(const lr_schedule *s, int64_t at, int64_t n)
{
    (void)at, (void)n;
    return s->base;
}

static double step_fall(const lr_schedule *s, int64_t at, int64_t n)
{
    (void)n;
    return s->step_size > 0 ? s->base * det_pow(s->gamma, (double)(units(s, at) / s->step_size)) : s->base;
}

static double multi_step(const lr_schedule *s, int64_t at, int64_t n)
{
    int reached = 0;
    (void)n;
    for (int i = 0; i < s->n_milestones; i++)
        reached += s->milestones[i] <= units(s, at);
    return s->base * det_pow(s->gamma, (double)reached);
}

static double exponential(const lr_schedule *s, int64_t at, int64_t n)
{
    (void)n;
    return s->base * det_pow(s->gamma, (double)units(s, at));
}

/* As AllenNLP: a cycle is a whole number of units. */
static double cosine_restarts(const lr_schedule *s, int64_t at)
{
    double base = s->base, wanted = (double)s->first_cycle;
    int64_t e = units(s, at), length = s->first_cycle;
    while (e >= length) {
        e -= length;
        base *= s->base_factor;
        wanted *= s->cycle_factor;
        length = wanted < 1.0 ? 1 : wanted < 1e15 ? (int64_t)wanted : (int64_t)1e15;
        if (length == 1 && s->cycle_factor <= 1.0 && s->base_factor == 1.0)
            return base; /* every unit begins a cycle from now on */
    }
    return fall(base, s->minimum, (double)e / (double)length);
}

static double cosine(const lr_schedule *s, int64_t at, int64_t n)
{
    if (s->first_cycle)
        return cosine_restarts(s, at);
    return n > 0 ? s->minimum + (s->base - s->minimum) * (1.0 + det_cos_pi((double)at / (double)n)) / 2.0 : s->base;
}

static double linear(const lr_schedule *s, int64_t at, int64_t n)
{
    double rate = s->base * (1.0 - (double)at / (double)n);
    return rate > s->minimum ? rate : s->minimum;
}

static double triangle(const lr_schedule *s, int64_t at, int64_t n)
{
    int64_t cut = (int64_t)((double)n * s->cut_fraction);
    double p = 1.0;
    if (at < cut)
        p = (double)at / (double)cut;
    else if (n > cut)
        p = 1.0 - (double)(at - cut) / (double)(n - cut);
    return s->base * (1.0 + p * (s->ratio - 1.0)) / s->ratio;
}

static double slanted_triangular(const lr_schedule *s, int64_t at, int64_t n)
{
    int64_t unit = s->unit_steps > 1 ? s->unit_steps : 1, frozen = s->frozen_units * unit;
    if (at < frozen)
        return triangle(s, at % unit, unit);
    return n > frozen ? triangle(s, at - frozen, n - frozen) : s->base;
}

static double one_cycle(const lr_schedule *s, int64_t at, int64_t n)
{
    double top = s->cut_fraction * (double)n - 1.0, last = (double)n - 1.0, x = (double)at < last ? (double)at : last;
    double start = s->base / s->start_ratio;
    if (top > 0 && x <= top)
        return fall(start, s->base, x / top);
    return fall(s->base, start / s->end_ratio, last > top ? (x - top) / (last - top) : 1.0);
}

static double constant_with_warmup(const lr_schedule *s, int64_t at, int64_t n)
{
    (void)n;
    return at < s->warmup_steps ? s->base * ((double)at / (double)s->warmup_steps) : s->base;
}

/* What is over of what follows the warm-up. */
static double share_behind_warmup(const lr_schedule *s, int64_t at, int64_t n)
{
    return n > s->warmup_steps ? (double)(at - s->warmup_steps) / (double)(n - s->warmup_steps) : 1.0;
}

static double polynomial_decay(const lr_schedule *s, int64_t at, int64_t n)
{
    if (at < s->warmup_steps)
        return constant_with_warmup(s, at, n);
    double left = 1.0 - share_behind_warmup(s, at, n);
    return s->minimum + (s->base - s->minimum) * (left > 0 ? det_pow(left, s->power) : 0.0);
}

static double cosine_with_warmup(const lr_schedule *s, int64_t at, int64_t n)
{
    if (at < s->warmup_steps)
        return constant_with_warmup(s, at, n);
    return fall(s->base, 0.0, 2.0 * s->cycles * share_behind_warmup(s, at, n));
}

static double cosine_hard_restarts(const lr_schedule *s, int64_t at, int64_t n)
{
    if (at < s->warmup_steps)
        return constant_with_warmup(s, at, n);
    double share = share_behind_warmup(s, at, n), turns = s->cycles * share;
    return share < 1.0 ? fall(s->base, 0.0, turns - (double)(int64_t)turns) : 0.0;
}

static double noam(const lr_schedule *s, int64_t at, int64_t n)
{
    double x = at > 1 ? (double)at : 1.0, w = (double)s->warmup_steps;
    double after = 1.0 / det_sqrt(x), before = x / (w * det_sqrt(w));
    (void)n;
    return s->factor / det_sqrt(s->model_size) * (after < before ? after : before);
}

/* PyTorch's ReduceLROnPlateau. */
static double reduce_on_plateau(const lr_schedule *s, int64_t at, int64_t n)
{
    double rate = s->base;
    (void)at, (void)n;
    for (uint32_t i = 0; i < s->reductions; i++) {
        double less = rate * s->factor;
        if (less < s->minimum)
            less = s->minimum;
        if (!(rate - less > s->eps))
            break;
        rate = less;
    }
    return rate;
}

static const struct {
    const char *name;
    double (*rate)(const lr_schedule *s, int64_t at, int64_t n);
    bool ends;         /* the curve depends on how many steps there are */
    bool owns_warmup;  /* its warm-up is part of the curve */
} curves[] = {
    [LR_SCHEDULE_CONSTANT] = {"constant", constant, false, false},
    [LR_SCHEDULE_STEP] = {"step", step_fall, false, false},
    [LR_SCHEDULE_COSINE] = {"cosine", cosine, true, false},
    [LR_SCHEDULE_LINEAR] = {"linear", linear, true, false},
    [LR_SCHEDULE_SLANTED_TRIANGULAR] = {"slanted_triangular", slanted_triangular, true, false},
    [LR_SCHEDULE_MULTI_STEP] = {"multi_step", multi_step, false, false},
    [LR_SCHEDULE_EXPONENTIAL] = {"exponential", exponential, false, false},
    [LR_SCHEDULE_ONE_CYCLE] = {"one_cycle", one_cycle, true, false},
    [LR_SCHEDULE_CONSTANT_WITH_WARMUP] = {"constant_with_warmup", constant_with_warmup, false, true},
    [LR_SCHEDULE_LINEAR_WITH_WARMUP] = {"linear_with_warmup", polynomial_decay, true, true},
    [LR_SCHEDULE_POLYNOMIAL_DECAY] = {"polynomial_decay", polynomial_decay, true, true},
    [LR_SCHEDULE_COSINE_WITH_WARMUP] = {"cosine_with_warmup", cosine_with_warmup, true, true},
    [LR_SCHEDULE_COSINE_HARD_RESTARTS] = {"cosine_hard_restarts_with_warmup", cosine_hard_restarts, true, true},
    [LR_SCHEDULE_NOAM] = {"noam", noam, false, true},
    [LR_SCHEDULE_REDUCE_ON_PLATEAU] = {"reduce_on_plateau", reduce_on_plateau, false, false},
};
_Static_assert(COUNT_OF(curves) == LR_SCHEDULE_KINDS, "every schedule has a row");

bool lr_schedule_kind_of(const char *name, lr_schedule_kind *ret)
{
    for (size_t i = 0; i < COUNT_OF(curves); i++)
        if (strcmp(name, curves[i].name) == 0) {
            *ret = (lr_schedule_kind)i;
            return true;
        }
    return false;
}

const char *lr_schedule_name(lr_schedule_kind kind)
{
    return curves[kind].name;
}

static bool has_end(const lr_schedule *s)
{
    return curves[s->kind].ends && !s->first_cycle;
}

bool lr_schedule_equal(const lr_schedule *a, const lr_schedule *b)
{
    return !has_end(a) || a->total_steps == b->total_steps;
}

float lr_schedule_rate(const lr_schedule *s, int64_t step)
{
    int64_t warmup = curves[s->kind].owns_warmup ? 0 : s->warmup_steps;
    if (step < 0)
        step = 0;
    if (step < warmup)
        return (float)(s->base * ((double)step + 1.0) / ((double)warmup + 1.0));
    int64_t at = step - warmup, n = s->total_steps - warmup;
    if (n > 0 && at > n)
        at = n;
    double rate = n > 0 || !has_end(s) ? curves[s->kind].rate(s, at, n) : s->base;
    return rate > 0 ? (float)rate : 0.0f;
}

double momentum_schedule_share(const momentum_schedule *s, int64_t step)
{
    int64_t unit = s->unit_steps > 1 ? step / s->unit_steps : step;
    double fall_by = s->ratio > 0 ? 1.0 - 1.0 / s->ratio : 0.0;
    if (unit <= 0 || unit >= s->cool_down + s->warm_up)
        return 1.0;
    if (unit <= s->cool_down)
        return 1.0 - fall_by * ((double)unit / (double)s->cool_down);
    return 1.0 - fall_by * (1.0 - (double)(unit - s->cool_down) / (double)s->warm_up);
}
