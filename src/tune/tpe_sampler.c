/*
 * The next trial by tree-structured Parzen estimators: a density of the good trials and one of the others; of points
 * drawn from the first the one where it exceeds the second the most. Both are mixtures of a bell around each trial,
 * over all coordinates at once, so what goes together stays together. A trial that runs is among the others, so
 * trials at a time go to different places.
 *
 * Sources: Bergstra, Bardenet, Bengio, Kégl, "Algorithms for Hyper-Parameter Optimization", NIPS 2011; how many are
 * good, widths and their bounds as in Watanabe, "Tree-Structured Parzen Estimator: Understanding Its Algorithm
 * Components and Their Roles for Better Empirical Performance" (2023); but for the least width, see make_widths.
 */
#include "common/base/alloc.h"
#include "tune/draw.h"
#include "tune/observations.h"
#include "tune/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double narrowest = 0.03;

enum { FIRST = 10, DRAWN = 24, GOOD_MOST = 25, TRIALS_MOST = 1000, TRIES = 20 };

/* A bell a row, and the prior, which is one more: as wide as the cube, in its middle. */
typedef struct mixture {
    const space *space;
    int n, d;
    double *middle, *width; /* [n + 1][d] */
    double *inside;         /* [n + 1][d]: how much of a bell lies in the cube */
} mixture;

static double below(double z)
{
    return 0.5 * erfc(-z * 0.7071067811865476);
}

static bool is_word(const mixture *m, int k)
{
    return m->space->at[k].kind == SPACE_CATEGORICAL;
}

/* --- making one --- */

/* To the farther of its neighbours in this coordinate; at an end of the row the nearer one is all there is, and one
 * bell alone reaches to the ends of the cube. */
static double neighbours_of(const mixture *m, int row, int k)
{
    double x = m->middle[row * m->d + k], left = INFINITY, right = INFINITY;
    for (int i = 0; i < m->n; i++) {
        double away = m->middle[i * m->d + k] - x;
        if (i != row && (away < 0 || (away == 0 && i < row)))
            left = fmin(left, -away);
        else if (i != row)
            right = fmin(right, away);
    }
    if (left == INFINITY && right == INFINITY)
        return fmax(x, 1.0 - x);
    return left == INFINITY ? right : right == INFINITY ? left : fmax(left, right);
}

/* Of a coordinate that has so many values only: a bell narrower than one of their cells would never leave it. */
static double cell_of(const space_parameter *p)
{
    int64_t values = space_parameter_values(p);
    return values ? 1.0 / (double)values : 0.0;
}

/* The more trials, the narrower a bell may be. Optuna's least width falls as 1 / (2 + n), which keeps the few good ones
 * so wide that a search of 50 trials does not close in on them; by the square it does (docs/BENCHMARKS.md). */
static void make_widths(mixture *m)
{
    double least = fmax(narrowest, 1.0 / ((2.0 + m->n) * (2.0 + m->n)));
    for (int i = 0; i <= m->n; i++)
        for (int k = 0; k < m->d; k++) {
            double x = m->middle[i * m->d + k];
            double narrow = fmax(least, cell_of(&m->space->at[k]));
            double w = i == m->n ? 1.0 : fmin(fmax(neighbours_of(m, i, k), narrow), 1.0);
            m->width[i * m->d + k] = w;
            m->inside[i * m->d + k] = below((1.0 - x) / w) - below(-x / w);
        }
}

/* Of rows `rows` [n] of x. */
static mixture mixture_make(const space *s, const double *x, const int *rows, int n)
{
    mixture m = {.space = s, .n = n, .d = s->n};
    size_t all = (size_t)(n + 1) * (size_t)m.d;
    m.middle = xmalloc(3 * all * sizeof *m.middle);
    m.width = m.middle + all;
    m.inside = m.width + all;
    for (int i = 0; i < n; i++)
        memcpy(m.middle + i * m.d, x + rows[i] * m.d, (size_t)m.d * sizeof *x);
    for (int k = 0; k < m.d; k++)
        m.middle[n * m.d + k] = 0.5;
    make_widths(&m);
    return m;
}

static void mixture_free(mixture *m)
{
    free(m->middle);
}

/* --- words: a bell's own one, and a share of the prior's in all --- */

static double word_density(const mixture *m, int row, int k, double x)
{
    double share = 1.0 / (m->n + 1), words = m->space->at[k].n;
    bool is_its_own = row < m->n && m->middle[row * m->d + k] == x;
    return row == m->n ? 1.0 / words : (share + is_its_own) / (1.0 + share * words);
}

static double draw_word(const mixture *m, int row, int k, draw *d)
{
    int words = m->space->at[k].n, word = 0;
    double at = draw_uniform(d);
    while (word + 1 < words && (at -= word_density(m, row, k, (word + 0.5) / words)) >= 0)
        word++;
    return (word + 0.5) / words;
}

/* --- drawing, and the density --- */

static double draw_bell(const mixture *m, int row, int k, draw *d)
{
    for (;;) { /* a third of a bell lies in the cube, at least */
        double x = m->middle[row * m->d + k] + m->width[row * m->d + k] * draw_normal(d);
        if (x >= 0 && x <= 1)
            return x;
    }
}

static void mixture_draw(const mixture *m, draw *d, double *ret)
{
    int row = (int)(draw_uniform(d) * (m->n + 1));
    for (int k = 0; k < m->d; k++)
        ret[k] = is_word(m, k) ? draw_word(m, row, k, d) : draw_bell(m, row, k, d);
}

static double log_bell(const mixture *m, int row, int k, double x)
{
    if (is_word(m, k))
        return log(word_density(m, row, k, x));
    int i = row * m->d + k;
    double z = (x - m->middle[i]) / m->width[i];
    return -0.5 * z * z - log(m->width[i] * m->inside[i]);
}

static double mixture_log_density(const mixture *m, const double *x)
{
    double sum = 0, most = -INFINITY;
    for (int row = m->n; row >= 0; row--) { /* the prior is nowhere small, so the sum is not lost */
        double log_density = 0;
        for (int k = 0; k < m->d; k++)
            log_density += log_bell(m, row, k, x[k]);
        if (log_density > most) {
            sum = sum * exp(most - log_density) + 1.0;
            most = log_density;
        } else {
            sum += exp(log_density - most);
        }
    }
    return most + log(sum / (m->n + 1));
}

/* --- the next trial --- */

/* Of those that were not tried yet, where a space has an end of points; false: all were. */
static bool best_of_drawn(const study *s, const mixture *good, const mixture *bad, draw *d, double *ret_point)
{
    double x[SPACE_PARAMETERS_MOST], point[SPACE_PARAMETERS_MOST], best = -INFINITY;
    for (int i = 0; i < DRAWN; i++) {
        mixture_draw(good, d, x);
        double value = mixture_log_density(good, x) - mixture_log_density(bad, x);
        space_point(s->space, x, point);
        if (value > best && !study_has(s, point)) {
            best = value;
            memcpy(ret_point, point, (size_t)good->d * sizeof *point);
        }
    }
    return best > -INFINITY;
}

/* The good ones first; those that run, behind the others. */
static int *order_of(const observations *o)
{
    int *rows = xmalloc((size_t)(o->n + o->n_running) * sizeof *rows);
    for (int i = 0; i < o->n + o->n_running; i++)
        rows[i] = i < o->n ? o->order[i] : i;
    return rows;
}

static void append_running(observations *o)
{
    size_t row = (size_t)o->d * sizeof *o->x;
    o->x = xrealloc(o->x, (size_t)(o->n + o->n_running) * row);
    memcpy(o->x + o->n * o->d, o->running, (size_t)o->n_running * row);
}

static bool propose_tpe(const study *s, uint64_t seed, double *ret_point)
{
    if (study_count_points(s) < FIRST || !study_count_known(s))
        return sampler_random.propose(s, seed, ret_point);
    draw d = {.seed = rng_mix(seed, (uint64_t)study_count_points(s))};
    observations o;
    observations_take(&o, s, TRIALS_MOST);
    append_running(&o);
    int *rows = order_of(&o), n_good = (int)fmin(ceil(0.1 * o.n), GOOD_MOST);
    mixture good = mixture_make(s->space, o.x, rows, n_good);
    mixture bad = mixture_make(s->space, o.x, rows + n_good, o.n + o.n_running - n_good);
    bool is_new = false;
    for (int tries = 0; !is_new && tries < TRIES; tries++)
        is_new = best_of_drawn(s, &good, &bad, &d, ret_point);
    mixture_free(&bad);
    mixture_free(&good);
    free(rows);
    observations_fini(&o);
    return is_new || sampler_random.propose(s, seed, ret_point);
}

const sampler sampler_tpe = {
    .name = "tpe",
    .about = "tree-structured Parzen estimators",
    .propose = propose_tpe,
};
