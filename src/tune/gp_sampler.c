/*
 * The next trial by a Gaussian process: where the expected improvement is the largest. Objectives are brought to one
 * shape first: what is far above the median of a search for the least is drawn closer, as it would flatten what
 * matters. A trial that runs counts as what the process believes of it (Kriging believer), so trials at a time go to
 * different places; a failed one counts as the worst.
 *
 * Sources: Jones, Schonlau, Welch, "Efficient Global Optimization of Expensive Black-Box Functions" (1998);
 * Ginsbourger, Le Riche, Carraro, "Kriging is well-suited to parallelize optimization" (2010); Garrido-Merchán,
 * Hernández-Lobato, "Dealing with categorical and integer-valued variables in Bayesian Optimization" (2020): whole
 * numbers and items stand in the middle of their cells. Logarithms of the improvement: Ament et al., "Unexpected
 * Improvements to Expected Improvement", NeurIPS 2023.
 */
#include "common/base/alloc.h"
#include "tune/draw.h"
#include "tune/gaussian_process.h"
#include "tune/observations.h"
#include "tune/sampler.h"
#include "tune/sobol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Every other trial looks for no little improvement, lest a search stays for good where it is the best for a long
 * way around. In deviations of objectives. */
static const double asked_improvement = 0.05;

enum { EVEN = 500, NEAR = 60, LEADERS = 5, POLISH = 120, TRIALS_MOST = 200 };

typedef struct proposing {
    const study *study;
    const space *space;
    gaussian_process process;
    double least; /* the lowest mean at a trial, less what improvement is asked for */
    double *room; /* of predictions */
    draw draw;
} proposing;

typedef struct candidate {
    double unit[SPACE_PARAMETERS_MOST];
    double value; /* the logarithm of the expected improvement */
} candidate;

/* --- expected improvement --- */

/* log of z Phi(z) + phi(z) */
static double log_improvement(double z)
{
    static const double log_root_2pi = 0.9189385332046727;
    if (z < -6.0)
        return -0.5 * z * z - log_root_2pi - 2.0 * log(-z);
    return log(z * 0.5 * erfc(-z * 0.7071067811865476) + exp(-0.5 * z * z - log_root_2pi));
}

/* As it will be tried: in the middle of its cell. */
static void settle(const proposing *p, candidate *c)
{
    double point[SPACE_PARAMETERS_MOST], mean, deviation;
    space_point(p->space, c->unit, point);
    space_unit(p->space, point, c->unit);
    if (study_has(p->study, point)) {
        c->value = -INFINITY; /* it would only be the same again */
        return;
    }
    gaussian_process_predict(&p->process, c->unit, p->room, &mean, &deviation);
    c->value = log(deviation) + log_improvement((p->least - mean) / deviation);
}

/* --- where it is the largest --- */

static void keep(candidate *leaders, const candidate *c)
{
    int at = LEADERS;
    while (at > 0 && c->value > leaders[at - 1].value)
        at--;
    if (at == LEADERS)
        return;
    memmove(&leaders[at + 1], &leaders[at], (size_t)(LEADERS - 1 - at) * sizeof *leaders);
    leaders[at] = *c;
}

static void move(proposing *p, const double *from, double by, candidate *ret)
{
    int must = (int)(draw_uniform(&p->draw) * p->space->n); /* one at least moves */
    for (int k = 0; k < p->space->n; k++) {
        bool moves = k == must || draw_uniform(&p->draw) < 0.5;
        bool is_word = p->space->at[k].kind == SPACE_CATEGORICAL;
        double to = is_word ? draw_uniform(&p->draw) : from[k] + by * draw_normal(&p->draw);
        ret->unit[k] = moves && (!is_word || k == must) ? fmin(fmax(to, 0.0), 1.0) : from[k];
    }
    settle(p, ret);
}

static void look_everywhere(proposing *p, candidate *leaders)
{
    candidate c;
    for (uint32_t i = 0; i < EVEN; i++) {
        for (int k = 0; k < p->space->n; k++)
            c.unit[k] = sobol_scrambled(p->draw.seed, i, k);
        settle(p, &c);
        keep(leaders, &c);
    }
}

/* Around the best trials. */
static void look_near(proposing *p, const observations *o, candidate *leaders)
{
    candidate c;
    for (int rank = 0; rank < LEADERS && rank < o->n; rank++)
        for (int i = 0; i < NEAR; i++) {
            move(p, o->x + (size_t)o->order[rank] * (size_t)o->d, exp(-7.0 * draw_uniform(&p->draw)), &c);
            keep(leaders, &c);
        }
}

/* Uphill by chance, with steps that grow with luck and shrink without. */
static void polish(proposing *p, candidate *c)
{
    candidate next;
    double by = 0.1;
    for (int i = 0; i < POLISH; i++) {
        move(p, c->unit, by, &next);
        bool is_better = next.value > c->value;
        if (is_better)
            *c = next;
        by = fmin(by * (is_better ? 1.6 : 0.87), 0.3);
    }
}

static void find_best(proposing *p, const observations *o, candidate *ret)
{
    candidate leaders[LEADERS];
    for (int i = 0; i < LEADERS; i++)
        leaders[i].value = -INFINITY;
    look_everywhere(p, leaders);
    look_near(p, o, leaders);
    *ret = leaders[0];
    for (int i = 0; i < LEADERS; i++)
        if (leaders[i].value > -INFINITY) {
            polish(p, &leaders[i]);
            if (leaders[i].value > ret->value)
                *ret = leaders[i];
        }
}

/* --- the process of a study --- */

static void believe(proposing *p, const observations *o)
{
    double mean, deviation;
    for (int i = 0; i < o->n_running; i++) {
        const double *x = o->running + (size_t)i * (size_t)o->d;
        p->room = xrealloc(p->room, (size_t)(p->process.n + 1) * sizeof *p->room);
        gaussian_process_predict(&p->process, x, p->room, &mean, &deviation);
        gaussian_process_add(&p->process, x, mean);
    }
    p->room = xrealloc(p->room, (size_t)p->process.n * sizeof *p->room);
    p->least = INFINITY;
    for (int i = 0; i < p->process.n; i++) {
        gaussian_process_predict(&p->process, p->process.x + i * p->process.d, p->room, &mean, &deviation);
        p->least = fmin(p->least, mean);
    }
    if (study_count_points(p->study) % 2)
        p->least -= asked_improvement;
}

static int first_trials(const space *s)
{
    int n = 2 * s->n;
    return n < 5 ? 5 : n > 12 ? 12 : n;
}

static bool propose_gp(const study *s, uint64_t seed, double *ret_point)
{
    if (study_count_points(s) < first_trials(s->space) || !study_count_known(s))
        return sampler_random.propose(s, seed, ret_point);
    bool is_word[SPACE_PARAMETERS_MOST];
    for (int k = 0; k < s->space->n; k++)
        is_word[k] = s->space->at[k].kind == SPACE_CATEGORICAL;
    observations o;
    candidate best;
    proposing p = {.study = s, .space = s->space, .draw = {.seed = rng_mix(seed, (uint64_t)study_count_points(s))}};
    observations_take(&o, s, TRIALS_MOST);
    gaussian_process_fit(&p.process, o.n, o.d, is_word, o.x, o.y);
    believe(&p, &o);
    find_best(&p, &o, &best);
    gaussian_process_fini(&p.process);
    observations_fini(&o);
    free(p.room);
    if (best.value == -INFINITY)
        return sampler_random.propose(s, seed, ret_point);
    space_point(s->space, best.unit, ret_point);
    return true;
}

const sampler sampler_gp = {
    .name = "gp",
    .about = "a Gaussian process, where the expected improvement is the largest",
    .propose = propose_gp,
};
