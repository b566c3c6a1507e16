/* See metric_state.h. */
#include "metric/metric_state.h"

#include "common/base/alloc.h"
#include "common/base/host_memory.h"

#include <stdlib.h>
#include <string.h>

status metric_state_init(metric_state *s, size_t n_counts, size_t n_sums, error *err)
{
    *s = (metric_state){.n_counts = n_counts, .n_sums = n_sums};
    s->counts = calloc(n_counts + 1, sizeof *s->counts);
    s->sums = calloc(n_sums + 1, sizeof *s->sums);
    if (s->counts && s->sums)
        return OK;
    metric_state_fini(s);
    return FAIL(err, E_NOMEM, "no memory for %zu counts and %zu sums", n_counts, n_sums);
}

void metric_state_fini(metric_state *s)
{
    free(s->counts);
    free(s->sums);
    free(s->pairs);
    free(s->rows);
    free(s->values);
    *s = (metric_state){.counts = NULL};
}

void metric_state_clear(metric_state *s)
{
    memset(s->counts, 0, s->n_counts * sizeof *s->counts);
    memset(s->sums, 0, s->n_sums * sizeof *s->sums);
    s->n_pairs = s->n_sorted = s->n_rows = s->n_values = s->values_each = 0;
}

/* --- pairs --- */

/* The bits of a number, so that unsigned numbers order as the numbers do. */
static uint32_t ordered(float x)
{
    uint32_t bits;
    x = x == 0.0f ? 0.0f : x;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 31 ? ~bits : bits | UINT32_C(0x80000000);
}

static float from_ordered(uint32_t bits)
{
    float x;
    bits = bits >> 31 ? bits & UINT32_C(0x7fffffff) : ~bits;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint64_t metric_pair(float first, float second)
{
    return (uint64_t)ordered(first) << 32 | ordered(second);
}

float metric_pair_first(uint64_t pair)
{
    return from_ordered((uint32_t)(pair >> 32));
}

float metric_pair_second(uint64_t pair)
{
    return from_ordered((uint32_t)pair);
}

static status reserve_pairs(metric_state *s, size_t n, error *err)
{
    if (n <= s->pairs_cap)
        return OK;
    size_t cap = n > 2 * s->pairs_cap ? n : 2 * s->pairs_cap;
    cap = cap < 1024 ? 1024 : cap;
    uint64_t *more = realloc(s->pairs, cap * sizeof *more);
    if (!more)
        return FAIL(err, E_NOMEM, "no memory for %zu pairs of scores and labels, 8 bytes each", cap);
    s->pairs = more;
    s->pairs_cap = cap;
    return OK;
}

status metric_state_add_pair(metric_state *s, uint64_t pair, error *err)
{
    TRY(reserve_pairs(s, s->n_pairs + 1, err));
    s->pairs[s->n_pairs++] = pair;
    return OK;
}

static int compare_pairs(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void metric_sort_pairs(uint64_t *pairs, size_t n)
{
    qsort(pairs, n, sizeof *pairs, compare_pairs);
}

void metric_state_sort(metric_state *s)
{
    if (s->n_sorted < s->n_pairs)
        metric_sort_pairs(s->pairs, s->n_pairs);
    s->n_sorted = s->n_pairs;
}

/* Two sorted runs become one: from the end, so that what is there need not move first. */
static void merge_runs(uint64_t *into, size_t n, const uint64_t *from, size_t n_from)
{
    while (n_from > 0) {
        bool is_ours = n > 0 && into[n - 1] > from[n_from - 1];
        into[n + n_from - 1] = is_ours ? into[n - 1] : from[n_from - 1];
        *(is_ours ? &n : &n_from) -= 1;
    }
}

/* --- rows --- */

static status reserve_rows(metric_state *s, size_t n, error *err)
{
    if (n <= s->rows_cap)
        return OK;
    size_t cap = n > 2 * s->rows_cap ? n : 2 * s->rows_cap;
    metric_row *more = realloc(s->rows, cap * sizeof *more);
    if (!more)
        return FAIL(err, E_NOMEM, "no memory for %zu examples, %zu bytes each", cap, sizeof *more);
    s->rows = more;
    s->rows_cap = cap;
    return OK;
}

status metric_state_add_row(metric_state *s, const metric_row *row, error *err)
{
    TRY(reserve_rows(s, s->n_rows + 1, err));
    s->rows[s->n_rows++] = *row;
    return OK;
}

static int compare_rows(const void *a, const void *b)
{
    const metric_row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void metric_state_sort_rows(metric_state *s)
{
    if (s->n_rows)
        qsort(s->rows, s->n_rows, sizeof *s->rows, compare_rows);
}

static status merge_rows(metric_state *into, const metric_state *from, error *err)
{
    TRY(reserve_rows(into, into->n_rows + from->n_rows, err));
    if (from->n_rows)
        memcpy(into->rows + into->n_rows, from->rows, from->n_rows * sizeof *from->rows);
    into->n_rows += from->n_rows;
    return OK;
}

/* --- predictions --- */

static status reserve_values(metric_state *s, size_t n, error *err)
{
    if (n <= s->values_cap)
        return OK;
    host_memory host;
    size_t cap = n > 2 * s->values_cap ? n : 2 * s->values_cap;
    cap = cap < 4096 ? 4096 : cap;
    TRY(host_memory_left(&host, err));
    bool fits = (cap - s->values_cap) * sizeof *s->values <= host.left;
    float *more = fits ? realloc(s->values, cap * sizeof *more) : NULL;
    if (!more)
        return FAIL(err, E_NOMEM, "no memory to keep %zu scores, 4 bytes each; take fewer examples (--range)", cap);
    s->values = more;
    s->values_cap = cap;
    return OK;
}

status metric_state_add_values(metric_state *s, const float *values, size_t n, error *err)
{
    BUG_ON(s->values_each && s->values_each != n);
    TRY(reserve_values(s, s->n_values + n, err));
    memcpy(s->values + s->n_values, values, n * sizeof *values);
    s->n_values += n;
    s->values_each = n;
    return OK;
}

static status merge_values(metric_state *into, const metric_state *from, error *err)
{
    TRY(reserve_values(into, into->n_values + from->n_values, err));
    if (from->n_values)
        memcpy(into->values + into->n_values, from->values, from->n_values * sizeof *from->values);
    into->n_values += from->n_values;
    into->values_each = into->values_each ? into->values_each : from->values_each;
    return OK;
}

typedef struct kept {
    const float *at;
    size_t n;
} kept;

/* By their bytes, so that every order becomes the same. */
static int compare_kept(const void *a, const void *b)
{
    const kept *x = a, *y = b;
    return memcmp(x->at, y->at, x->n * sizeof *x->at);
}

static void save_values(const metric_state *s, buf *to)
{
    size_t each = s->values_each, n = each ? s->n_values / each : 0;
    kept *order = xcalloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (kept){s->values + i * each, each};
    qsort(order, n, sizeof *order, compare_kept);
    for (size_t i = 0; i < n; i++)
        buf_add(to, order[i].at, each * sizeof *order[i].at);
    free(order);
}

/* --- merging --- */

status metric_state_merge(metric_state *into, metric_state *from, error *err)
{
    BUG_ON(into->n_counts != from->n_counts || into->n_sums != from->n_sums);
    TRY(reserve_pairs(into, into->n_pairs + from->n_pairs, err));
    TRY(merge_rows(into, from, err));
    TRY(merge_values(into, from, err));
    for (size_t i = 0; i < into->n_counts; i++)
        into->counts[i] += from->counts[i];
    for (size_t i = 0; i < into->n_sums; i++)
        exact_sum_merge(&into->sums[i], &from->sums[i]);
    metric_state_sort(into);
    metric_state_sort(from);
    merge_runs(into->pairs, into->n_pairs, from->pairs, from->n_pairs);
    into->n_pairs += from->n_pairs;
    into->n_sorted = into->n_pairs;
    return OK;
}

/* --- bytes --- */

static void add_u64(buf *to, uint64_t x)
{
    buf_add(to, &x, sizeof x);
}

void metric_state_save(metric_state *s, buf *to)
{
    metric_state_sort(s);
    metric_state_sort_rows(s);
    for (size_t i = 0; i < s->n_sums; i++)
        exact_sum_normalize(&s->sums[i]);
    add_u64(to, s->n_counts);
    add_u64(to, s->n_sums);
    add_u64(to, s->n_pairs);
    add_u64(to, s->n_rows);
    add_u64(to, s->n_values);
    add_u64(to, s->values_each);
    buf_add(to, s->counts, s->n_counts * sizeof *s->counts);
    buf_add(to, s->sums, s->n_sums * sizeof *s->sums);
    if (s->n_pairs)
        buf_add(to, s->pairs, s->n_pairs * sizeof *s->pairs);
    if (s->n_rows)
        buf_add(to, s->rows, s->n_rows * sizeof *s->rows);
    save_values(s, to);
}

static status take(void *to, size_t wanted, const char **from, size_t *bytes, error *err)
{
    if (*bytes < wanted)
        return FAIL(err, E_DATA, "a metric's state ends %zu bytes too early", wanted - *bytes);
    if (wanted)
        memcpy(to, *from, wanted);
    *from += wanted;
    *bytes -= wanted;
    return OK;
}

/* Of a sum as exact_sum_normalize leaves it. */
static bool is_normal(const exact_sum *s)
{
    for (size_t i = 0; i + 1 < EXACT_CHUNKS; i++)
        if (s->chunk[i] < 0 || s->chunk[i] > (int64_t)UINT32_MAX)
            return false;
    return s->added == 0;
}

static status check_loaded(const metric_state *s, error *err)
{
    for (size_t i = 0; i < s->n_sums; i++)
        if (!is_normal(&s->sums[i]))
            return FAIL(err, E_DATA, "sum %zu of a metric's state is not one", i);
    for (size_t i = 1; i < s->n_pairs; i++)
        if (s->pairs[i - 1] > s->pairs[i])
            return FAIL(err, E_DATA, "the pairs of a metric's state are not sorted");
    for (size_t i = 1; i < s->n_rows; i++)
        if (compare_rows(&s->rows[i - 1], &s->rows[i]) >= 0)
            return FAIL(err, E_DATA, "the rows of a metric's state are not sorted");
    return OK;
}

status metric_state_load(metric_state *s, const char **from, size_t *bytes, error *err)
{
    uint64_t n[6];
    TRY(take(n, sizeof n, from, bytes, err));
    if (n[0] != s->n_counts || n[1] != s->n_sums || n[2] > *bytes / sizeof *s->pairs ||
        n[3] > *bytes / sizeof *s->rows || n[4] > *bytes / sizeof *s->values || (n[5] ? n[4] % n[5] : n[4]) ||
        (n[5] && !n[4]))
        return FAIL(err, E_DATA,
                    "a metric's state has %llu counts, %llu sums, %llu pairs and %llu rows in %zu bytes, not %zu "
                    "counts and %zu sums: it is of another metric",
                    (unsigned long long)n[0], (unsigned long long)n[1], (unsigned long long)n[2],
                    (unsigned long long)n[3], *bytes, s->n_counts, s->n_sums);
    TRY(take(s->counts, s->n_counts * sizeof *s->counts, from, bytes, err));
    TRY(take(s->sums, s->n_sums * sizeof *s->sums, from, bytes, err));
    TRY(reserve_pairs(s, (size_t)n[2], err));
    TRY(take(s->pairs, (size_t)n[2] * sizeof *s->pairs, from, bytes, err));
    s->n_pairs = s->n_sorted = (size_t)n[2];
    TRY(reserve_rows(s, (size_t)n[3], err));
    TRY(take(s->rows, (size_t)n[3] * sizeof *s->rows, from, bytes, err));
    s->n_rows = (size_t)n[3];
    TRY(reserve_values(s, (size_t)n[4], err));
    TRY(take(s->values, (size_t)n[4] * sizeof *s->values, from, bytes, err));
    s->n_values = (size_t)n[4];
    s->values_each = (size_t)n[5];
    return check_loaded(s, err);
}
