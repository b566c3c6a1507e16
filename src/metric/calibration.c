/*
 * How far the probabilities of a model are to be believed (C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On
 * Calibration of Modern Neural Networks", ICML 2017, arXiv:1706.04599).
 *
 * The expected calibration error: predictions are put into bins of equal width by their confidence, the probability
 * of what is predicted, where bin k of M is for k/M < p <= (k+1)/M. It is the mean over predictions of the distance
 * between the share of its bin that is right and the bin's mean confidence.
 *
 * The temperature is that by which scores are divided for the least mean loss. The loss is convex in its inverse, so
 * there is one, found by Newton's method within a bracket; sums are exact, so it is a function of the examples alone.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <math.h>
#include <stdlib.h>

/* --- one prediction: its scores, and behind them its label --- */

static size_t row_length(const metric_source *s)
{
    return (size_t)(s->input == METRIC_CLASSES ? s->classes : 1) + 1;
}

static const float *gather(metric *m, const metric_batch *b, int64_t i)
{
    const metric_source *s = m->source;
    size_t n = row_length(s) - 1;
    buf_reserve(&m->scratch, (n + 1) * sizeof(float));
    float *row = (float *)(void *)m->scratch.data;
    for (size_t c = 0; c < n; c++)
        row[c] = s->input == METRIC_CLASSES ? metric_score(s, b, i, (int64_t)c) : b->scores[i];
    row[n] = s->input == METRIC_CLASSES || b->labels ? (float)metric_truth(s, b, i) : b->targets[i];
    return row;
}

static size_t best_of(const float *row, size_t n)
{
    size_t best = 0;
    for (size_t c = 1; c < n; c++)
        best = row[c] > row[best] ? c : best;
    return best;
}

/* With scores times `sharpness`. NaN: no class is possible. */
static double confidence_of(const metric_source *s, const float *row, double sharpness, bool *ret_right)
{
    size_t n = row_length(s) - 1, best = best_of(row, n);
    double score = (double)row[best], sum = 0.0;
    if (s->input == METRIC_YES_NO) {
        bool yes = score > (s->is_odds ? 0.0 : 0.5);
        *ret_right = yes == (row[n] > 0.5f);
        return s->is_odds ? 1.0 / (1.0 + det_exp(-fabs(score) * sharpness)) : yes ? score : 1.0 - score;
    }
    for (size_t c = 0; c < n; c++)
        sum += det_exp(((double)row[c] - score) * sharpness);
    *ret_right = best == (size_t)row[n];
    return 1.0 / sum;
}

/* --- bins --- */

enum { RIGHT, COUNTED, COUNTS };

typedef struct bins {
    int64_t *counts;     /* [n * COUNTS], and how many predictions have no confidence */
    exact_sum *sums;     /* [n] of confidences */
    size_t n;
} bins;

static void bins_add(const bins *b, double confidence, bool is_right)
{
    if (!isfinite(confidence)) {
        b->counts[b->n * COUNTS]++;
        return;
    }
    int64_t k = (int64_t)ceil(confidence * (double)b->n) - 1;
    k = k < 0 ? 0 : k >= (int64_t)b->n ? (int64_t)b->n - 1 : k;
    b->counts[k * COUNTS + RIGHT] += is_right;
    b->counts[k * COUNTS + COUNTED]++;
    exact_sum_add(&b->sums[k], confidence);
}

static double bins_error(const bins *b)
{
    double sum = 0.0;
    int64_t counted = 0;
    for (size_t k = 0; k < b->n; k++) {
        sum += fabs((double)b->counts[k * COUNTS + RIGHT] - exact_sum_value(&b->sums[k]));
        counted += b->counts[k * COUNTS + COUNTED];
    }
    return b->counts[b->n * COUNTS] ? (double)NAN : metric_ratio(sum, (double)counted);
}

static bins bins_of(metric *m)
{
    return (bins){m->state.counts, m->state.sums, m->state.n_sums};
}

/* --- the metric --- */

static status open_error(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)err;
    *ret_sums = m->o.bins ? (size_t)m->o.bins : METRIC_BINS;
    *ret_counts = *ret_sums * COUNTS + 1;
    return OK;
}

static status add_error(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    bins all = bins_of(m);
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i)) {
            bool is_right;
            double confidence = confidence_of(m->source, gather(m, b, i), 1.0, &is_right);
            bins_add(&all, confidence, is_right);
        }
    return OK;
}

static void put_error(metric *m, metric_figures *to)
{
    bins b = bins_of(m);
    double *values = xcalloc(3 * b.n + 1, sizeof *values);
    for (size_t k = 0; k < b.n; k++) {
        double counted = (double)b.counts[k * COUNTS + COUNTED];
        values[k] = metric_ratio(exact_sum_value(&b.sums[k]), counted);
        values[b.n + k] = metric_ratio((double)b.counts[k * COUNTS + RIGHT], counted);
        values[2 * b.n + k] = counted;
    }
    metric_put(m, to, "", bins_error(&b));
    metric_put_table(m, to, "_confidence", 1, (int64_t)b.n, values);
    metric_put_table(m, to, "_accuracy", 1, (int64_t)b.n, values + b.n);
    metric_put_table(m, to, "_count", 1, (int64_t)b.n, values + 2 * b.n);
    to->at[to->n - 1].are_counts = true;
    free(values);
}

const metric_kind metric_expected_calibration_error = {
    .name = "expected_calibration_error",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .endings = " ",
    .open = open_error,
    .add = add_error,
    .figures = put_error,
};

/* --- the temperature --- */

/* What a prediction costs, and the first two derivatives by the factor `sharpness` of its scores. */
typedef struct slope {
    double loss, first, second;
} slope;

static slope slope_of_odds(double odds, double yes, double sharpness)
{
    double x = odds * sharpness, chance = 1.0 / (1.0 + det_exp(-x));
    return (slope){.loss = fmax(x, 0.0) - x * yes + det_log(1.0 + det_exp(-fabs(x))),
                   .first = odds * (chance - yes),
                   .second = odds * odds * chance * (1.0 - chance)};
}

/* Scores are taken less the highest, which changes none of the three. */
static slope slope_of_classes(const float *row, size_t n, double sharpness)
{
    double top = (double)row[best_of(row, n)], sum = 0.0, mean = 0.0, square = 0.0;
    for (size_t c = 0; c < n; c++) {
        double score = (double)row[c] - top, weight = det_exp(score * sharpness);
        sum += weight;
        mean += weight > 0.0 ? weight * score : 0.0;
        square += weight > 0.0 ? weight * score * score : 0.0;
    }
    double label = (double)row[(size_t)row[n]] - top;
    mean /= sum;
    return (slope){.loss = det_log(sum) - label * sharpness,
                   .first = mean - label,
                   .second = square / sum - mean * mean};
}

static slope mean_slope(const metric *m, double sharpness)
{
    size_t row = row_length(m->source), n = m->state.n_values / row;
    exact_sum sums[3] = {{{0}, 0}};
    bool is_finite = n > 0;
    for (size_t i = 0; i < n && is_finite; i++) {
        const float *at = m->state.values + i * row;
        slope s = m->source->input == METRIC_YES_NO ? slope_of_odds((double)at[0], (double)at[1], sharpness)
                                                    : slope_of_classes(at, row - 1, sharpness);
        is_finite = isfinite(s.loss) && isfinite(s.first) && isfinite(s.second);
        exact_sum_add(&sums[0], is_finite ? s.loss : 0.0);
        exact_sum_add(&sums[1], is_finite ? s.first : 0.0);
        exact_sum_add(&sums[2], is_finite ? s.second : 0.0);
    }
    if (!is_finite)
        return (slope){(double)NAN, (double)NAN, (double)NAN};
    return (slope){exact_sum_value(&sums[0]) / (double)n, exact_sum_value(&sums[1]) / (double)n,
                   exact_sum_value(&sums[2]) / (double)n};
}

/* NaN: the loss is not least between 1 / SHARPEST and SHARPEST. */
static double fit(const metric *m)
{
    enum { SHARPEST = 100, TIMES = 100 };
    double low = 1.0 / SHARPEST, high = SHARPEST, x = 1.0;
    if (!(mean_slope(m, low).first < 0.0) || !(mean_slope(m, high).first > 0.0))
        return (double)NAN;
    for (int i = 0; i < TIMES; i++) {
        slope s = mean_slope(m, x);
        *(s.first > 0.0 ? &high : &low) = x;
        double next = x - s.first / s.second;
        next = next > low && next < high ? next : det_sqrt(low * high);
        bool is_there = s.first == 0.0 || fabs(next - x) <= 1e-14 * x;
        x = s.first == 0.0 ? x : next;
        if (is_there)
            break;
    }
    return x;
}

static double error_at(const metric *m, double sharpness)
{
    size_t row = row_length(m->source), n = m->state.n_values / row;
    int64_t counts[METRIC_BINS * COUNTS + 1] = {0};
    exact_sum sums[METRIC_BINS] = {{{0}, 0}};
    bins all = {counts, sums, METRIC_BINS};
    for (size_t i = 0; i < n; i++) {
        bool is_right;
        double confidence = confidence_of(m->source, m->state.values + i * row, sharpness, &is_right);
        bins_add(&all, confidence, is_right);
    }
    return bins_error(&all);
}

static status open_temperature(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_counts;
    (void)ret_sums;
    if (m->source->is_span)
        return METRIC_FAIL(m, err, "a temperature is of classes or of a yes or a no, not of positions");
    if (m->source->input == METRIC_YES_NO && !m->source->is_odds)
        return METRIC_FAIL(m, err, "a temperature divides logits, but this model gives probabilities");
    return OK;
}

static status add_temperature(metric *m, const metric_batch *b, error *err)
{
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i))
            TRY(metric_state_add_values(&m->state, gather(m, b, i), row_length(m->source), err));
    return OK;
}

static void put_temperature(metric *m, metric_figures *to)
{
    double sharpness = fit(m);
    bool is_there = isfinite(sharpness);
    metric_put(m, to, "", 1.0 / sharpness);
    metric_put(m, to, "_loss_before", mean_slope(m, 1.0).loss);
    metric_put(m, to, "_loss_after", is_there ? mean_slope(m, sharpness).loss : (double)NAN);
    metric_put(m, to, "_error_before", error_at(m, 1.0));
    metric_put(m, to, "_error_after", is_there ? error_at(m, sharpness) : (double)NAN);
}

const metric_kind metric_temperature = {
    .name = "temperature",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .keeps_each = true,
    .open = open_temperature,
    .add = add_temperature,
    .figures = put_temperature,
};
