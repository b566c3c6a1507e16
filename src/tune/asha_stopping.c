/*
 * Asynchronous successive halving: a trial is paused once it has trained `min_epochs`, and again after
 * `reduction_factor` times as many, and so on; these places are rungs. Of the trials that have come to a rung the best
 * one in `reduction_factor` goes on to the next. Whenever there is room, a trial goes on from the highest rung that has
 * one to let go; where none has, a new one begins. So nobody waits for a rung to be full.
 *
 * How many epochs a job has is not asked (the paper's infinite horizon): a trial whose job ends is complete. At the end
 * of a search the best of the highest rung goes on until it is, so that there is a model.
 *
 * Source: Li, Jamieson, Rostamizadeh, Gonina, Ben-tzur, Hardt, Recht, Talwalkar, "A System for Massively Parallel
 * Hyperparameter Tuning", MLSys 2020, algorithm 2 and section 3.3.
 */
#include "common/base/alloc.h"
#include "tune/stopping.h"

#include <math.h>
#include <stdlib.h>

/* Epochs of rung k, from 0; what no job has is INT64_MAX. */
static int64_t epochs_of(const stopping *how, int k)
{
    int64_t epochs = how->min_epochs;
    for (int i = 0; i < k; i++)
        epochs = epochs > INT64_MAX / how->reduction_factor ? INT64_MAX : epochs * how->reduction_factor;
    return epochs;
}

static stopping_verdict judge_asha(const stopping *how, const study *s, const trial *t)
{
    (void)s;
    bool is_there = t->evaluations[t->n_evaluations - 1].epoch >= epochs_of(how, t->resumed);
    return is_there ? TRIAL_PAUSES : TRIAL_GOES_ON;
}

/* A trial waits at the rung where it was paused, and has passed those below. */
static bool has_come_to(const trial *t, int k)
{
    return t->resumed > k || (t->resumed == k && t->state == TRIAL_PAUSED);
}

/* The best up to the evaluation that brought it there; NaN: it has none. */
static double objective_at(const stopping *how, const study *s, const trial *t, int k)
{
    double best = NAN;
    bool is_there = false;
    for (int i = 0; i < t->n_evaluations && !is_there; i++) {
        best = study_better(s, best, t->evaluations[i].objective);
        is_there = t->evaluations[i].epoch >= epochs_of(how, k);
    }
    return best;
}

typedef struct climber {
    const trial *trial;
    double loss; /* at the rung; smaller is better */
} climber;

static int compare(const void *a, const void *b)
{
    const climber *x = a, *y = b;
    return x->loss < y->loss ? -1 : x->loss > y->loss ? 1 : x->trial->number - y->trial->number;
}

/* [*ret_n], the best first; the caller frees it. A trial that failed later on has come to it too. */
static climber *climbers_of(const stopping *how, const study *s, int k, int *ret_n)
{
    climber *all = xcalloc((size_t)s->n + 1, sizeof *all);
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        const trial *t = &s->trials[i];
        if (!has_come_to(t, k))
            continue;
        double objective = objective_at(how, s, t, k);
        all[n++] = (climber){t, isnan(objective) ? INFINITY : -s->better * objective};
    }
    qsort(all, (size_t)n, sizeof *all, compare);
    *ret_n = n;
    return all;
}

/* The first of the best `most` that waits at rung k. */
static const trial *first_waiting(const climber *all, int most, int k)
{
    for (int i = 0; i < most; i++)
        if (all[i].trial->state == TRIAL_PAUSED && all[i].trial->resumed == k && isfinite(all[i].loss))
            return all[i].trial;
    return NULL;
}

static int highest_rung(const study *s)
{
    int highest = -1;
    for (int i = 0; i < s->n; i++)
        for (int k = highest + 1; has_come_to(&s->trials[i], k); k++)
            highest = k;
    return highest;
}

static const trial *promote_asha(const stopping *how, const study *s, bool is_end)
{
    const trial *next = NULL;
    int highest = highest_rung(s);
    for (int k = highest; k >= 0 && !next; k--) {
        int n = 0;
        climber *all = climbers_of(how, s, k, &n);
        next = first_waiting(all, n / how->reduction_factor, k);
        if (!next && is_end && k == highest)
            next = first_waiting(all, 1, k);
        free(all);
    }
    return next;
}

const stopping_rule stopping_asha = {.name = "asha", .judge = judge_asha, .promote = promote_asha};
