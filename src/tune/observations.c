#include "tune/observations.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double compression = 3.0, stretched = 0.01;

/* Smaller is better. */
static double loss_of(const study *s, double objective)
{
    return -s->better * objective;
}

static double worst_of(const study *s)
{
    double worst = -INFINITY;
    for (int i = 0; i < s->n; i++)
        if (s->trials[i].state != TRIAL_RUNNING)
            worst = fmax(worst, loss_of(s, s->trials[i].objective)); /* fmax passes over NaN */
    for (int i = 0; i < s->n_priors; i++)
        worst = fmax(worst, loss_of(s, s->priors[i].objective));
    return worst;
}

/* --- sorting, stable by the trial's place --- */

static _Thread_local const double *keys;

static int compare_places(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    return keys[i] < keys[j] ? -1 : keys[i] > keys[j] ? 1 : i - j;
}

static void sort_places(int n, const double *y, int *ret)
{
    for (int i = 0; i < n; i++)
        ret[i] = i;
    keys = y;
    qsort(ret, (size_t)n, sizeof *ret, compare_places);
}

/* --- --- */

static void add(observations *o, const study *s, const double *point, double objective, double worst)
{
    space_unit(s->space, point, o->x + (size_t)o->n * (size_t)o->d);
    o->y[o->n++] = isfinite(objective) ? loss_of(s, objective) : worst;
}

/* In the order of trials, prior ones first. */
static void gather(observations *o, const study *s)
{
    double worst = worst_of(s);
    for (int i = 0; i < s->n_priors; i++)
        add(o, s, s->priors[i].point, s->priors[i].objective, worst);
    for (int i = 0; i < s->n; i++) {
        const trial *t = &s->trials[i];
        if (t->state == TRIAL_RUNNING)
            space_unit(s->space, t->point, o->running + (size_t)o->n_running++ * (size_t)o->d);
        else
            add(o, s, t->point, t->objective, worst);
    }
}

static void thin_out(observations *o, int most)
{
    if (o->n <= most)
        return;
    int n = 0;
    bool *kept = xcalloc((size_t)o->n, sizeof *kept);
    for (int i = 0; i < most / 2; i++)
        kept[o->order[i]] = kept[o->n - 1 - i] = true;
    for (int i = 0; i < o->n; i++)
        if (kept[i]) {
            memmove(o->x + (size_t)n * (size_t)o->d, o->x + (size_t)i * (size_t)o->d, (size_t)o->d * sizeof *o->x);
            o->y[n++] = o->y[i];
        }
    o->n = n;
    free(kept);
    sort_places(o->n, o->y, o->order);
}

/* Late in a search the median is hardly above the least; what is below a share of the worse ones is not stretched. */
static void draw_closer(observations *o)
{
    double least = o->y[o->order[0]], median = o->y[o->order[o->n / 2]], worse = o->y[o->order[3 * o->n / 4]];
    double unit = fmax((median - least) / compression, stretched * (worse - least));
    for (int i = 0; unit > 0 && i < o->n; i++)
        o->y[i] = log1p((o->y[i] - least) / unit);
}

static void standardise(observations *o)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < o->n; i++)
        mean += o->y[i] / o->n;
    for (int i = 0; i < o->n; i++)
        variance += (o->y[i] - mean) * (o->y[i] - mean) / o->n;
    for (int i = 0; i < o->n; i++)
        o->y[i] = variance > 0 ? (o->y[i] - mean) / sqrt(variance) : 0;
}

void observations_take(observations *o, const study *s, int most)
{
    size_t n = (size_t)study_count_points(s), d = (size_t)s->space->n;
    *o = (observations){.d = s->space->n};
    o->x = xcalloc(n * d, sizeof *o->x);
    o->running = xcalloc(n * d, sizeof *o->running);
    o->y = xcalloc(n, sizeof *o->y);
    o->order = xcalloc(n, sizeof *o->order);
    gather(o, s);
    sort_places(o->n, o->y, o->order);
    thin_out(o, most);
    draw_closer(o);
    standardise(o);
}

void observations_fini(observations *o)
{
    free(o->x);
    free(o->running);
    free(o->y);
    free(o->order);
    *o = (observations){.n = 0};
}
