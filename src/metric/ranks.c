/*
 * Metrics of an order: the area under the ROC curve, average precision and Spearman's correlation. Each keeps
 * a pair of every label that counts, sorts them and counts along them in integers.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* --- scores of a yes or a no --- */

status metric_check_positive(const metric *m, error *err)
{
    const metric_source *s = m->source;
    if (s->input == METRIC_CLASSES && s->classes != 2)
        return METRIC_FAIL(m, err, "%s takes two classes, but there are %lld", m->kind->name, (long long)s->classes);
    if (s->input != METRIC_NUMBERS && m->o.positive_label != 0 && m->o.positive_label != 1)
        return METRIC_FAIL(m, err, "positive_label: %lld is neither 0 nor 1", (long long)m->o.positive_label);
    return OK;
}

static status open_pairs(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_counts;
    (void)ret_sums;
    return metric_check_positive(m, err);
}

/* How much a label looks like the positive one. */
static float score_of(const metric *m, const metric_batch *b, int64_t i)
{
    const metric_source *s = m->source;
    float score = s->input == METRIC_CLASSES ? metric_score(s, b, i, 1) - metric_score(s, b, i, 0) : b->scores[i];
    return m->o.positive_label == 1 ? score : -score;
}

static status add_scores(metric *m, const metric_batch *b, error *err)
{
    for (int64_t i = 0; i < b->examples * m->source->labels; i++) {
        if (!metric_counts(m->source, b, i))
            continue;
        bool is_positive = metric_truth(m->source, b, i) == m->o.positive_label;
        TRY(metric_state_add_pair(&m->state, metric_pair(score_of(m, b, i), is_positive ? 1.0f : 0.0f), err));
    }
    return OK;
}

/* Pairs of one score: those from `at` up, if `step` is 1, or down. */
typedef struct tie {
    int64_t positive, all;
} tie;

static tie tie_from(const metric_state *s, size_t at, int step)
{
    tie t = {0, 0};
    uint64_t score = s->pairs[at] >> 32;
    for (; at < s->n_pairs && s->pairs[at] >> 32 == score; at += (size_t)step) {
        t.all++;
        t.positive += metric_pair_second(s->pairs[at]) > 0.0f;
    }
    return t;
}

/* Of all pairs of a positive and a negative, those in which the positive has the higher score; ties are half
 * of one (Mann and Whitney's U). */
static void put_auc(metric *m, metric_figures *to)
{
    metric_state *s = &m->state;
    unsigned __int128 twice = 0;
    int64_t positive = 0, negative = 0;
    metric_state_sort(s);
    for (size_t i = 0; i < s->n_pairs;) {
        tie t = tie_from(s, i, 1);
        int64_t no = t.all - t.positive;
        twice += (unsigned __int128)t.positive * (unsigned __int128)(2 * negative + no);
        positive += t.positive;
        negative += no;
        i += (size_t)t.all;
    }
    unsigned __int128 whole = (unsigned __int128)positive * (unsigned __int128)negative * 2;
    metric_put(m, to, "", metric_ratio((double)twice, (double)whole));
}

const metric_kind metric_auc = {
    .name = "auc",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .keeps_each = true,
    .endings = " ",
    .open = open_pairs,
    .add = add_scores,
    .figures = put_auc,
};

/* The precision at each score at which there are positives, weighted by how many. */
static void put_average_precision(metric *m, metric_figures *to)
{
    metric_state *s = &m->state;
    exact_sum sum = {.added = 0};
    int64_t positive = 0;
    metric_state_sort(s);
    for (size_t i = s->n_pairs; i > 0;) {
        tie t = tie_from(s, i - 1, -1);
        i -= (size_t)t.all;
        positive += t.positive;
        exact_sum_add_product(&sum, (double)t.positive, (double)positive / (double)(s->n_pairs - i));
    }
    metric_put(m, to, "", metric_ratio(exact_sum_value(&sum), (double)positive));
}

const metric_kind metric_average_precision = {
    .name = "average_precision",
    .inputs = METRIC_CLASSES | METRIC_YES_NO,
    .keeps_each = true,
    .endings = " ",
    .open = open_pairs,
    .add = add_scores,
    .figures = put_average_precision,
};

/* --- Spearman's correlation --- */

static status add_numbers(metric *m, const metric_batch *b, error *err)
{
    int64_t more = b->examples * m->source->labels;
    if (m->state.n_pairs + (size_t)more > (size_t)INT32_MAX)
        return FAIL(err, E_NOMEM, "it takes up to %d labels", INT32_MAX);
    for (int64_t i = 0; i < more; i++)
        if (metric_counts(m->source, b, i))
            TRY(metric_state_add_pair(&m->state, metric_pair(b->scores[i], b->targets[i]), err));
    return OK;
}

static size_t end_of_tie(const uint64_t *pairs, size_t n, size_t at)
{
    uint64_t first = pairs[at] >> 32;
    while (at < n && pairs[at] >> 32 == first)
        at++;
    return at;
}

/* Twice the mean rank of those from `first` to before `end`, ranks from 1 on. */
static uint64_t twice_rank(size_t first, size_t end)
{
    return (uint64_t)(first + 1 + end);
}

typedef struct products {
    __int128 xx, xy, yy; /* of ranks, twice and less their mean */
} products;

/* The pairs sorted by their first numbers; *order is for the ranks of these beside the second numbers. */
static products products_of(const metric_state *s, uint64_t *order)
{
    products p = {0, 0, 0};
    size_t n = s->n_pairs;
    __int128 mean = (__int128)n + 1;
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_tie(s->pairs, n, i);
        for (size_t k = i; k < end; k++)
            order[k] = s->pairs[k] << 32 | twice_rank(i, end);
    }
    metric_sort_pairs(order, n);
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_tie(order, n, i);
        __int128 y = (__int128)twice_rank(i, end) - mean;
        for (size_t k = i; k < end; k++) {
            __int128 x = (__int128)(order[k] & UINT32_MAX) - mean;
            p.xx += x * x;
            p.xy += x * y;
            p.yy += y * y;
        }
    }
    return p;
}

static void put_spearman(metric *m, metric_figures *to)
{
    metric_state *s = &m->state;
    uint64_t *order = xcalloc(s->n_pairs + 1, sizeof *order);
    metric_state_sort(s);
    products p = products_of(s, order);
    double whole = sqrt((double)p.xx) * sqrt((double)p.yy);
    metric_put(m, to, "", metric_ratio((double)p.xy, whole));
    free(order);
}

const metric_kind metric_spearman_correlation = {
    .name = "spearman_correlation",
    .inputs = METRIC_NUMBERS,
    .keeps_each = true,
    .endings = " ",
    .open = open_pairs,
    .add = add_numbers,
    .figures = put_spearman,
};
