/*
 * Precision and recall at every hundredth of a probability, as a table of counts: rows are positives that are predicted
 * so, negatives predicted positive, negatives predicted so, positives predicted negative; column k is of the threshold
 * k/100, from which on a positive is predicted. TensorBoard's PR curves are these.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <math.h>
#include <stdlib.h>

enum { THRESHOLDS = METRIC_THRESHOLDS, POSITIVE = 0, NEGATIVE = THRESHOLDS, UNKNOWN = 2 * THRESHOLDS, COUNTS };

static status open_curve(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_sums;
    TRY(metric_check_positive(m, err));
    *ret_counts = COUNTS;
    return OK;
}

/* Of the positive label. */
static double chance_of(const metric *m, const metric_batch *b, int64_t i)
{
    const metric_source *s = m->source;
    bool is_first = m->o.positive_label == 1;
    if (s->input == METRIC_YES_NO && !s->is_odds)
        return is_first ? (double)b->scores[i] : 1.0 - (double)b->scores[i];
    double odds = s->input == METRIC_CLASSES ? (double)metric_score(s, b, i, 1) - (double)metric_score(s, b, i, 0)
                                             : (double)b->scores[i];
    return 1.0 / (1.0 + det_exp(is_first ? -odds : odds));
}

static status add_chances(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++) {
        if (!metric_counts(m->source, b, i))
            continue;
        double chance = chance_of(m, b, i);
        if (!(chance >= 0.0 && chance <= 1.0)) {
            m->state.counts[UNKNOWN]++;
            continue;
        }
        bool is_positive = metric_truth(m->source, b, i) == m->o.positive_label;
        m->state.counts[(is_positive ? POSITIVE : NEGATIVE) + (size_t)(chance * (THRESHOLDS - 1))]++;
    }
    return OK;
}

static int64_t sum_of(const int64_t *counts)
{
    int64_t sum = 0;
    for (size_t k = 0; k < THRESHOLDS; k++)
        sum += counts[k];
    return sum;
}

static void put_curve(metric *m, metric_figures *to)
{
    const int64_t *c = m->state.counts;
    double *values = xcalloc((size_t)METRIC_CURVE_ROWS * THRESHOLDS, sizeof *values);
    int64_t positive = sum_of(c + POSITIVE), negative = sum_of(c + NEGATIVE), below[2] = {0, 0};
    for (size_t k = 0; k < THRESHOLDS; k++) {
        const double rows[METRIC_CURVE_ROWS] = {(double)(positive - below[0]), (double)(negative - below[1]),
                                                (double)below[1], (double)below[0]};
        for (size_t r = 0; r < METRIC_CURVE_ROWS; r++)
            values[r * THRESHOLDS + k] = c[UNKNOWN] ? (double)NAN : rows[r];
        below[0] += c[POSITIVE + k];
        below[1] += c[NEGATIVE + k];
    }
    metric_put_table(m, to, "", METRIC_CURVE_ROWS, THRESHOLDS, values);
    to->at[to->n - 1].are_counts = true;
    free(values);
}

const metric_kind metric_pr_curve = {
    .name = "pr_curve",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .open = open_curve,
    .add = add_chances,
    .figures = put_curve,
};
