/*
 * The median stopping rule: a trial ends if the best of its objectives is worse than the median, over the complete
 * trials, of the mean of their objectives up to the same epoch.
 *
 * Source: Golovin et al., "Google Vizier: A Service for Black-Box Optimization", KDD 2017, section 3.2.2. That there
 * must be FIRST of them is Optuna's (MedianPruner's n_startup_trials).
 */
#include "common/base/alloc.h"
#include "tune/stopping.h"

#include <math.h>
#include <stdlib.h>

enum { FIRST = 5 };

/* Of what is finite; NaN: nothing is. */
static double mean_until(const trial *t, int64_t epoch)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < t->n_evaluations && t->evaluations[i].epoch <= epoch; i++)
        if (isfinite(t->evaluations[i].objective)) {
            sum += t->evaluations[i].objective;
            n++;
        }
    return n ? sum / n : NAN;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* NaN: there are too few trials. */
static double median_until(const study *s, int64_t epoch)
{
    double *means = xcalloc((size_t)s->n, sizeof *means), median = NAN;
    size_t n = 0;
    for (int i = 0; i < s->n; i++) {
        double mean = mean_until(&s->trials[i], epoch);
        if (s->trials[i].state == TRIAL_COMPLETE && isfinite(mean))
            means[n++] = mean;
    }
    qsort(means, n, sizeof *means, compare);
    if (n >= FIRST)
        median = 0.5 * means[(n - 1) / 2] + 0.5 * means[n / 2];
    free(means);
    return median;
}

static stopping_verdict judge_median(const stopping *how, const study *s, const trial *t)
{
    int64_t epoch = t->evaluations[t->n_evaluations - 1].epoch;
    if (epoch < how->min_epochs)
        return TRIAL_GOES_ON;
    double median = median_until(s, epoch);
    bool is_worse = !isnan(median) && (isnan(t->objective) || s->better * (t->objective - median) < 0);
    return is_worse ? TRIAL_STOPS : TRIAL_GOES_ON;
}

const stopping_rule stopping_median = {.name = "median", .judge = judge_median};
