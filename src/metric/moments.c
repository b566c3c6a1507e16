/*
 * Metrics of numbers: errors, covariance and Pearson's correlation. Sums of numbers and of their products are
 * exact, and so are the differences that a covariance is made of; only their quotients are rounded.
 */
#include "metric/kind.h"

#include <math.h>

enum { SUM_X, SUM_Y, SUM_XX, SUM_XY, SUM_YY, SUMS };

/* --- errors --- */

static status add_absolute(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i)) {
            exact_sum_add(&m->state.sums[0], fabs((double)b->scores[i] - (double)b->targets[i]));
            m->state.counts[0]++;
        }
    return OK;
}

static status add_squared(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i)) {
            double difference = (double)b->scores[i] - (double)b->targets[i];
            exact_sum_add_product(&m->state.sums[0], difference, difference);
            m->state.counts[0]++;
        }
    return OK;
}

static void put_mean(metric *m, metric_figures *to)
{
    metric_put(m, to, "", metric_ratio(exact_sum_value(&m->state.sums[0]), (double)m->state.counts[0]));
}

const metric_kind metric_mean_absolute_error = {
    .name = "mean_absolute_error",
    .inputs = METRIC_NUMBERS,
    .endings = " ",
    .n_counts = 1,
    .n_sums = 1,
    .add = add_absolute,
    .figures = put_mean,
};

const metric_kind metric_mean_squared_error = {
    .name = "mean_squared_error",
    .inputs = METRIC_NUMBERS,
    .endings = " ",
    .n_counts = 1,
    .n_sums = 1,
    .add = add_squared,
    .figures = put_mean,
};

/* --- moments --- */

static status add_moments(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    exact_sum *sums = m->state.sums;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++) {
        if (!metric_counts(m->source, b, i))
            continue;
        double x = (double)b->scores[i], y = (double)b->targets[i];
        exact_sum_add(&sums[SUM_X], x);
        exact_sum_add(&sums[SUM_Y], y);
        exact_sum_add(&sums[SUM_XX], x * x); /* exact: factors are float32 */
        exact_sum_add(&sums[SUM_XY], x * y);
        exact_sum_add(&sums[SUM_YY], y * y);
        m->state.counts[0]++;
    }
    return OK;
}

/* n times the sum of products less the product of the sums, rounded once. */
static double co_moment(const metric *m, int products, int a, int b)
{
    exact_sum sum = {.added = 0};
    double p[EXACT_PARTS], x[EXACT_PARTS], y[EXACT_PARTS];
    size_t n_p = exact_sum_parts(&m->state.sums[products], p);
    size_t n_x = exact_sum_parts(&m->state.sums[a], x);
    size_t n_y = exact_sum_parts(&m->state.sums[b], y);
    for (size_t i = 0; i < n_p; i++)
        exact_sum_add_product(&sum, (double)m->state.counts[0], p[i]);
    for (size_t i = 0; i < n_x; i++)
        for (size_t k = 0; k < n_y; k++)
            exact_sum_add_product(&sum, -x[i], y[k]);
    return exact_sum_value(&sum);
}

/* The unbiased one, as AllenNLP's. */
static void put_covariance(metric *m, metric_figures *to)
{
    double n = (double)m->state.counts[0];
    double moment = co_moment(m, SUM_XY, SUM_X, SUM_Y);
    metric_put(m, to, "", n > 1.0 ? moment / (n * (n - 1.0)) : (double)NAN);
}

const metric_kind metric_covariance = {
    .name = "covariance",
    .inputs = METRIC_NUMBERS,
    .endings = " ",
    .n_counts = 1,
    .n_sums = SUMS,
    .add = add_moments,
    .figures = put_covariance,
};

/* 0 where one side does not vary, as AllenNLP has it. */
static void put_pearson(metric *m, metric_figures *to)
{
    double whole = sqrt(co_moment(m, SUM_XX, SUM_X, SUM_X)) * sqrt(co_moment(m, SUM_YY, SUM_Y, SUM_Y));
    double r = whole > 0.0 ? co_moment(m, SUM_XY, SUM_X, SUM_Y) / whole : 0.0;
    metric_put(m, to, "", m->state.counts[0] > 1 ? r : (double)NAN);
}

const metric_kind metric_pearson_correlation = {
    .name = "pearson_correlation",
    .inputs = METRIC_NUMBERS,
    .endings = " ",
    .n_counts = 1,
    .n_sums = SUMS,
    .add = add_moments,
    .figures = put_pearson,
};
