/*
 * How many predictions are right: of single labels, of whole rows, and of the tokens of a row whatever
 * their order.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"

#include <stdlib.h>

enum { RIGHT, COUNTED, COUNTS };

/* --- of single labels --- */

/* A label is right if the class with the highest score is it. */
static status add_accuracy(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    for (int64_t i = 0; i < b->examples * m->source->labels; i++)
        if (metric_counts(m->source, b, i)) {
            m->state.counts[COUNTED]++;
            m->state.counts[RIGHT] += metric_predicted(m->source, b, i) == metric_truth(m->source, b, i);
        }
    return OK;
}

static void put_share(metric *m, metric_figures *to)
{
    metric_put(m, to, "", metric_ratio((double)m->state.counts[RIGHT], (double)m->state.counts[COUNTED]));
}

const metric_kind metric_accuracy = {
    .name = "accuracy",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .endings = " ",
    .n_counts = COUNTS,
    .add = add_accuracy,
    .figures = put_share,
};

static status open_categorical(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_counts;
    (void)ret_sums;
    if (m->o.top_k > 1 && m->o.tie_break)
        return METRIC_FAIL(m, err, "tie_break goes with top_k 1 only, not with %lld", (long long)m->o.top_k);
    return OK;
}

/* Classes that rank before the label's: those with a higher score, and the ones before it with the same. */
static int64_t classes_before(const metric_source *s, const metric_batch *b, int64_t i, int64_t *ret_ties)
{
    int64_t label = b->labels[i], before = 0, ties = 0;
    float score = metric_score(s, b, i, label);
    for (int64_t c = 0; c < s->classes; c++) {
        float other = metric_score(s, b, i, c);
        before += other > score || (other == score && c < label);
        ties += other == score;
    }
    *ret_ties = ties;
    return before;
}

static bool has_higher(const metric_source *s, const metric_batch *b, int64_t i)
{
    float score = metric_score(s, b, i, b->labels[i]);
    for (int64_t c = 0; c < s->classes; c++)
        if (metric_score(s, b, i, c) > score)
            return true;
    return false;
}

static status add_categorical(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    int64_t top_k = m->o.top_k ? m->o.top_k : 1;
    for (int64_t i = 0; i < b->examples * s->labels; i++) {
        if (!metric_counts(s, b, i))
            continue;
        int64_t ties, before = classes_before(s, b, i, &ties);
        m->state.counts[COUNTED]++;
        if (!m->o.tie_break)
            m->state.counts[RIGHT] += before < top_k;
        else if (!has_higher(s, b, i))
            exact_sum_add(&m->state.sums[0], 1.0 / (double)ties);
    }
    return OK;
}

static void put_categorical(metric *m, metric_figures *to)
{
    double right = m->o.tie_break ? exact_sum_value(&m->state.sums[0]) : (double)m->state.counts[RIGHT];
    metric_put(m, to, "", metric_ratio(right, (double)m->state.counts[COUNTED]));
}

const metric_kind metric_categorical_accuracy = {
    .name = "categorical_accuracy",
    .inputs = METRIC_CLASSES,
    .endings = " ",
    .n_counts = COUNTS,
    .n_sums = 1, /* of what ties are worth */
    .open = open_categorical,
    .add = add_categorical,
    .figures = put_categorical,
};

/* --- of whole rows --- */

static void put_rows(metric *m, metric_figures *to)
{
    metric_put(m, to, "", metric_ratio((double)m->state.counts[RIGHT], (double)m->state.counts[COUNTED]));
}

/* A row is right if all of its labels are that count; one without such labels is left out. */
static status add_boolean(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    for (int64_t e = 0; e < b->examples; e++) {
        bool right = true, counted = false;
        for (int64_t i = e * s->labels; i < (e + 1) * s->labels; i++)
            if (metric_counts(s, b, i)) {
                counted = true;
                right = right && metric_predicted(s, b, i) == metric_truth(s, b, i);
            }
        m->state.counts[COUNTED] += counted;
        m->state.counts[RIGHT] += counted && right;
    }
    return OK;
}

const metric_kind metric_boolean_accuracy = {
    .name = "boolean_accuracy",
    .inputs = METRIC_CLASSES | METRIC_YES_NO | METRIC_TOKENS,
    .endings = " ",
    .n_counts = COUNTS,
    .add = add_boolean,
    .figures = put_rows,
};

/* One without labels that count is right here. */
static status add_sequence(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    const metric_source *s = m->source;
    for (int64_t e = 0; e < b->examples; e++) {
        bool right = true;
        for (int64_t i = e * s->labels; i < (e + 1) * s->labels && right; i++)
            right = !metric_counts(s, b, i) || metric_predicted(s, b, i) == metric_truth(s, b, i);
        m->state.counts[COUNTED]++;
        m->state.counts[RIGHT] += right;
    }
    return OK;
}

const metric_kind metric_sequence_accuracy = {
    .name = "sequence_accuracy",
    .inputs = METRIC_CLASSES | METRIC_TOKENS,
    .is_of_rows = true,
    .endings = " ",
    .n_counts = COUNTS,
    .add = add_sequence,
    .figures = put_rows,
};

/* --- of tokens, whatever their order --- */

static int compare_tokens(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The share of an example's labels that are among its predictions. Token 0 is padding, as in AllenNLP. */
static double recall_of(const metric *m, const metric_batch *b, int64_t e, int64_t *predicted)
{
    const metric_source *s = m->source;
    size_t n = 0;
    int64_t found = 0, labels = 0;
    for (int64_t i = e * s->labels; i < (e + 1) * s->labels; i++)
        if (metric_counts(s, b, i))
            predicted[n++] = metric_predicted(s, b, i);
    qsort(predicted, n, sizeof *predicted, compare_tokens);
    for (int64_t i = e * s->labels; i < (e + 1) * s->labels; i++) {
        if (!metric_counts(s, b, i) || b->labels[i] == 0)
            continue;
        labels++;
        found += bsearch(&b->labels[i], predicted, n, sizeof *predicted, compare_tokens) != NULL;
    }
    return labels ? (double)found / (double)labels : 0.0;
}

static status add_recall(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    buf_clear(&m->scratch);
    buf_reserve(&m->scratch, (size_t)m->source->labels * sizeof(int64_t));
    for (int64_t e = 0; e < b->examples; e++) {
        exact_sum_add(&m->state.sums[0], recall_of(m, b, e, (int64_t *)(void *)m->scratch.data));
        m->state.counts[COUNTED]++;
    }
    return OK;
}

static void put_recall(metric *m, metric_figures *to)
{
    double sum = exact_sum_value(&m->state.sums[0]);
    metric_put(m, to, "", metric_ratio(sum, (double)m->state.counts[COUNTED]));
}

const metric_kind metric_unigram_recall = {
    .name = "unigram_recall",
    .inputs = METRIC_CLASSES | METRIC_TOKENS,
    .is_of_rows = true,
    .endings = " ",
    .n_counts = COUNTS,
    .n_sums = 1,
    .add = add_recall,
    .figures = put_recall,
};
