/*
 * Precision, recall and F-scores of classes, from three counts of each class; and the confusion matrix.
 * A ratio without anything to divide by is 0, as in AllenNLP and by zero_division=0 in scikit-learn.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <stdlib.h>

enum { TRUE_POSITIVE, PREDICTED, LABELS, COUNTS };

typedef struct scores {
    double precision, recall, f;
} scores;

static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

static scores scores_of(const metric *m, const int64_t counts[COUNTS])
{
    double beta = m->o.beta > 0.0 ? m->o.beta : 1.0, square = beta * beta;
    scores s = {.precision = share((double)counts[TRUE_POSITIVE], (double)counts[PREDICTED]),
                .recall = share((double)counts[TRUE_POSITIVE], (double)counts[LABELS])};
    s.f = share((1.0 + square) * s.precision * s.recall, square * s.precision + s.recall);
    return s;
}

static const int64_t *counts_of(const metric *m, int64_t class)
{
    return m->state.counts + class * COUNTS;
}

static void put_scores(const metric *m, metric_figures *to, scores s)
{
    metric_put(m, to, "_precision", s.precision);
    metric_put(m, to, "_recall", s.recall);
    metric_put(m, to, "", s.f);
}

/* --- counting --- */

static int64_t classes_of(const metric *m)
{
    return m->kind == &metric_fbeta_multi_label ? m->source->labels : metric_classes(m->source);
}

static status open_classes(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_sums;
    int64_t classes = classes_of(m);
    for (size_t i = 0; i < m->o.n_labels; i++)
        if (m->o.labels[i] < 0 || m->o.labels[i] >= classes)
            return METRIC_FAIL(m, err, "labels: %lld is none of %lld classes", (long long)m->o.labels[i],
                               (long long)classes);
    *ret_counts = (size_t)classes * COUNTS;
    return OK;
}

static status add_classes(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    for (int64_t i = 0; i < b->examples * s->labels; i++) {
        if (!metric_counts(s, b, i))
            continue;
        int64_t predicted = metric_predicted(s, b, i), label = metric_truth(s, b, i);
        m->state.counts[label * COUNTS + TRUE_POSITIVE] += predicted == label;
        m->state.counts[predicted * COUNTS + PREDICTED]++;
        m->state.counts[label * COUNTS + LABELS]++;
    }
    return OK;
}

/* --- of one class --- */

static status open_f1(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    int64_t classes = metric_classes(m->source);
    if (m->o.positive_label == METRIC_NO_LABEL && classes > 2)
        return METRIC_FAIL(m, err, "positive_label is missing: f1 is of one of %lld classes; for all of them list "
                                   "{type: \"fbeta\", average: \"macro\"}", (long long)classes);
    m->o.positive_label = m->o.positive_label == METRIC_NO_LABEL ? 1 : m->o.positive_label;
    if (m->o.positive_label < 0 || m->o.positive_label >= classes)
        return METRIC_FAIL(m, err, "positive_label: %lld is none of %lld classes", (long long)m->o.positive_label,
                           (long long)classes);
    return open_classes(m, ret_counts, ret_sums, err);
}

static void put_f1(metric *m, metric_figures *to)
{
    put_scores(m, to, scores_of(m, counts_of(m, m->o.positive_label)));
}

const metric_kind metric_f1 = {
    .name = "f1",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .endings = " _precision _recall ",
    .open = open_f1,
    .add = add_classes,
    .figures = put_f1,
};

/* --- of several --- */

static int64_t class_at(const metric *m, size_t i)
{
    return m->o.labels ? m->o.labels[i] : (int64_t)i;
}

static scores micro(const metric *m, size_t n)
{
    int64_t sums[COUNTS] = {0};
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < COUNTS; c++)
            sums[c] += counts_of(m, class_at(m, i))[c];
    return scores_of(m, sums);
}

/* The mean over classes, each worth 1 or as much as it has labels. */
static scores mean(const metric *m, size_t n, bool by_labels)
{
    scores sum = {0.0, 0.0, 0.0};
    double weights = 0.0;
    for (size_t i = 0; i < n; i++) {
        const int64_t *counts = counts_of(m, class_at(m, i));
        double weight = by_labels ? (double)counts[LABELS] : 1.0;
        scores s = scores_of(m, counts);
        sum.precision += weight * s.precision;
        sum.recall += weight * s.recall;
        sum.f += weight * s.f;
        weights += weight;
    }
    return (scores){share(sum.precision, weights), share(sum.recall, weights), share(sum.f, weights)};
}

static void put_each(const metric *m, metric_figures *to, size_t n)
{
    double *values = xcalloc(4 * n + 1, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        scores s = scores_of(m, counts_of(m, class_at(m, i)));
        values[i] = s.precision;
        values[n + i] = s.recall;
        values[2 * n + i] = s.f;
        values[3 * n + i] = (double)counts_of(m, class_at(m, i))[LABELS];
    }
    metric_put_table(m, to, "_precision", 1, (int64_t)n, values);
    metric_put_table(m, to, "_recall", 1, (int64_t)n, values + n);
    metric_put_table(m, to, "", 1, (int64_t)n, values + 2 * n);
    metric_put_table(m, to, "_support", 1, (int64_t)n, values + 3 * n);
    to->at[to->n - 1].are_counts = true;
    free(values);
}

static void put_fbeta(metric *m, metric_figures *to)
{
    size_t n = m->o.labels ? m->o.n_labels : (size_t)classes_of(m);
    if (m->o.average == METRIC_PER_CLASS)
        put_each(m, to, n);
    else
        put_scores(m, to, m->o.average == METRIC_MICRO ? micro(m, n) : mean(m, n, m->o.average == METRIC_WEIGHTED));
}

const metric_kind metric_fbeta = {
    .name = "fbeta",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .endings = " _precision _recall ",
    .open = open_classes,
    .add = add_classes,
    .figures = put_fbeta,
};

/* --- of labels that are a yes or a no each --- */

static status open_multi_label(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    if (!(m->o.threshold > 0.0 && m->o.threshold < 1.0))
        return METRIC_FAIL(m, err, "threshold: %g is not a probability between 0 and 1", m->o.threshold);
    return open_classes(m, ret_counts, ret_sums, err);
}

static status add_multi_label(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    double limit = s->is_odds ? det_log(m->o.threshold / (1.0 - m->o.threshold)) : m->o.threshold;
    for (int64_t i = 0; i < b->examples * s->labels; i++) {
        if (!metric_counts(s, b, i))
            continue;
        int64_t *counts = m->state.counts + i % s->labels * COUNTS;
        bool predicted = (double)b->scores[i] >= limit, label = metric_truth(s, b, i) != 0;
        counts[TRUE_POSITIVE] += predicted && label;
        counts[PREDICTED] += predicted;
        counts[LABELS] += label;
    }
    return OK;
}

const metric_kind metric_fbeta_multi_label = {
    .name = "fbeta_multi_label",
    .inputs = METRIC_YES_NO,
    .endings = " _precision _recall ",
    .open = open_multi_label,
    .add = add_multi_label,
    .figures = put_fbeta,
};

/* --- the confusion matrix --- */

enum { CLASSES_MOST = 4096 };

static status open_matrix(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_sums;
    int64_t classes = metric_classes(m->source);
    if (classes > CLASSES_MOST)
        return METRIC_FAIL(m, err, "%lld classes; it takes up to %d", (long long)classes, CLASSES_MOST);
    *ret_counts = (size_t)(classes * classes);
    return OK;
}

static status add_matrix(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    int64_t classes = metric_classes(s);
    for (int64_t i = 0; i < b->examples * s->labels; i++)
        if (metric_counts(s, b, i))
            m->state.counts[metric_truth(s, b, i) * classes + metric_predicted(s, b, i)]++;
    return OK;
}

static void put_matrix(metric *m, metric_figures *to)
{
    int64_t classes = metric_classes(m->source);
    size_t n = (size_t)(classes * classes);
    double *values = xcalloc(n + 1, sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (double)m->state.counts[i];
    metric_put_table(m, to, "", classes, classes, values);
    to->at[to->n - 1].are_counts = true;
    free(values);
}

const metric_kind metric_confusion_matrix = {
    .name = "confusion_matrix",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .open = open_matrix,
    .add = add_matrix,
    .figures = put_matrix,
};
