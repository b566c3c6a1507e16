/*
 * BLEU and ROUGE over rows of tokens. An n-gram gets a number: that of two n-grams is equal if and only if
 * their tokens are. Numbers of n-grams are made from those of (n-1)-grams, by sorting pairs of numbers.
 */
#include "metric/kind.h"

#include "common/base/alloc.h"
#include "common/base/detmath.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREDICTION, REFERENCE, SIDES, EXCLUDED = -1, ROUGE_SIZE = 2, BLEU_SIZE = 4 };

typedef struct gram {
    uint64_t key; /* the number of the (n-1)-gram, and that of the token behind it */
    size_t at;    /* where it begins, in the row of both sides */
} gram;

/* Both sides in one row, the prediction first. */
typedef struct rows {
    size_t n[SIDES];
    int64_t *tokens; /* EXCLUDED: in no n-gram */
    int64_t *one;    /* numbers of tokens, ... */
    int64_t *number; /* ... and of n-grams by where they begin; EXCLUDED: there is none */
    gram *grams;
    int64_t *counts; /* of an n-gram, on both sides */
    size_t size;     /* n */
} rows;

typedef struct overlap {
    int64_t matches, total[SIDES];
} overlap;

/* --- rows --- */

static size_t lengths(const metric *m, const metric_batch *b)
{
    return (size_t)((b->n_predicted ? b->n_predicted : m->source->labels) + m->source->labels);
}

static rows rows_make(metric *m, const metric_batch *b)
{
    size_t n = lengths(m, b);
    buf_clear(&m->scratch);
    buf_reserve(&m->scratch, n * (sizeof(gram) + 5 * sizeof(int64_t)));
    char *at = m->scratch.data;
    rows r = {.grams = (gram *)(void *)at};
    int64_t *numbers = (int64_t *)(void *)(r.grams + n);
    r.tokens = numbers;
    r.one = numbers + n;
    r.number = numbers + 2 * n;
    r.counts = numbers + 3 * n;
    return r;
}

static bool is_excluded(const metric *m, int64_t token)
{
    for (size_t i = 0; i < m->o.n_exclude; i++)
        if (m->o.exclude[i] == token)
            return true;
    return false;
}

/* Labels that do not count are excluded, and so are predictions at their places. */
static void rows_take(const metric *m, const metric_batch *b, int64_t example, rows *r)
{
    const metric_source *s = m->source;
    size_t labels = (size_t)s->labels, predicted = b->n_predicted ? (size_t)b->n_predicted : labels;
    int64_t first = example * s->labels;
    for (size_t i = 0; i < predicted; i++) {
        int64_t token = b->n_predicted ? b->predicted[(size_t)example * predicted + i]
                                       : metric_predicted(s, b, first + (int64_t)i);
        bool counts = predicted != labels || metric_counts(s, b, first + (int64_t)i);
        r->tokens[i] = counts && !is_excluded(m, token) ? token : EXCLUDED;
    }
    for (size_t i = 0; i < labels; i++) {
        int64_t at = first + (int64_t)i;
        bool counts = metric_counts(s, b, at) && !is_excluded(m, b->labels[at]);
        r->tokens[predicted + i] = counts ? b->labels[at] : EXCLUDED;
    }
    r->n[PREDICTION] = predicted;
    r->n[REFERENCE] = labels;
    r->size = 0;
}

/* --- n-grams --- */

static int compare_grams(const void *a, const void *b)
{
    const gram *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static size_t side_of(const rows *r, size_t at)
{
    return at < r->n[PREDICTION] ? PREDICTION : REFERENCE;
}

/* The n-grams that begin at each place, as pairs of numbers; tokens themselves at first. */
static size_t gather(rows *r)
{
    size_t n = 0, all = r->n[PREDICTION] + r->n[REFERENCE];
    for (size_t i = 0; i < all; i++) {
        size_t last = i + r->size;
        if (r->size == 0 && r->tokens[i] != EXCLUDED)
            r->grams[n++] = (gram){(uint64_t)r->tokens[i], i};
        else if (r->size > 0 && last < all && side_of(r, i) == side_of(r, last) && r->number[i] != EXCLUDED &&
                 r->one[last] != EXCLUDED)
            r->grams[n++] = (gram){(uint64_t)r->number[i] << 32 | (uint64_t)r->one[last], i};
    }
    return n;
}

/* Makes n-grams one longer, and compares both sides' */
static overlap next_size(rows *r)
{
    overlap o = {0, {0, 0}};
    size_t all = r->n[PREDICTION] + r->n[REFERENCE], n = gather(r);
    int64_t number = 0;
    qsort(r->grams, n, sizeof *r->grams, compare_grams);
    for (size_t i = 0; i < all; i++)
        r->number[i] = EXCLUDED;
    for (size_t i = 0, end; i < n; i = end, number++) {
        int64_t count[SIDES] = {0, 0};
        for (end = i; end < n && r->grams[end].key == r->grams[i].key; end++) {
            r->number[r->grams[end].at] = number;
            count[side_of(r, r->grams[end].at)]++;
        }
        o.matches += count[PREDICTION] < count[REFERENCE] ? count[PREDICTION] : count[REFERENCE];
        o.total[PREDICTION] += count[PREDICTION];
        o.total[REFERENCE] += count[REFERENCE];
    }
    if (r->size++ == 0)
        memcpy(r->one, r->number, all * sizeof *r->one);
    return o;
}

/* --- BLEU --- */

enum { LENGTHS, BLEU_COUNTS = SIDES }; /* lengths of both sides, then matches and totals by size */

static size_t bleu_size(const metric *m)
{
    return m->o.ngram_weights ? m->o.n_ngram_weights : BLEU_SIZE;
}

static status open_bleu(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    (void)ret_sums;
    if (bleu_size(m) < 1 || bleu_size(m) > METRIC_NGRAMS)
        return METRIC_FAIL(m, err, "ngram_weights: %zu of them; 1 to %d are possible", bleu_size(m), METRIC_NGRAMS);
    *ret_counts = BLEU_COUNTS + 2 * bleu_size(m);
    return OK;
}

static status add_bleu(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    int64_t *counts = m->state.counts;
    rows r = rows_make(m, b);
    for (int64_t e = 0; e < b->examples; e++) {
        rows_take(m, b, e, &r);
        for (size_t n = 0; n < bleu_size(m); n++) {
            overlap o = next_size(&r);
            counts[BLEU_COUNTS + 2 * n] += o.matches;
            counts[BLEU_COUNTS + 2 * n + 1] += o.total[PREDICTION];
            for (int side = 0; side < SIDES && n == 0; side++)
                counts[LENGTHS + side] += o.total[side];
        }
    }
    return OK;
}

static double brevity_penalty(const int64_t lengths_of[SIDES])
{
    double predicted = (double)lengths_of[PREDICTION], reference = (double)lengths_of[REFERENCE];
    if (predicted > reference)
        return 1.0;
    return predicted > 0.0 && reference > 0.0 ? det_exp(1.0 - reference / predicted) : 0.0;
}

/* With AllenNLP's 1e-13 in the logarithms, so that a size without matches leaves next to nothing. */
static void put_bleu(metric *m, metric_figures *to)
{
    const int64_t *counts = m->state.counts;
    double sum = 0.0;
    for (size_t n = 0; n < bleu_size(m); n++) {
        double weight = m->o.ngram_weights ? m->o.ngram_weights[n] : 1.0 / BLEU_SIZE;
        sum += weight * (det_log((double)counts[BLEU_COUNTS + 2 * n] + 1e-13) -
                         det_log((double)counts[BLEU_COUNTS + 2 * n + 1] + 1e-13));
    }
    metric_put(m, to, "", brevity_penalty(counts + LENGTHS) * det_exp(sum));
}

const metric_kind metric_bleu = {
    .name = "bleu",
    .inputs = METRIC_CLASSES | METRIC_TOKENS,
    .is_of_rows = true,
    .endings = " ",
    .open = open_bleu,
    .add = add_bleu,
    .figures = put_bleu,
};

/* --- ROUGE --- */

enum { RECALL, PRECISION, F1, SCORES };

static size_t rouge_size(const metric *m)
{
    return m->o.ngram_size ? (size_t)m->o.ngram_size : ROUGE_SIZE;
}

/* Sums of scores by size, then that of ROUGE-L; one count, of examples. */
static status open_rouge(metric *m, size_t *ret_counts, size_t *ret_sums, error *err)
{
    if (m->o.ngram_size < 0 || rouge_size(m) > METRIC_NGRAMS)
        return METRIC_FAIL(m, err, "ngram_size: %lld is not between 1 and %d", (long long)m->o.ngram_size,
                           METRIC_NGRAMS);
    *ret_counts = 1;
    *ret_sums = SCORES * rouge_size(m) + 1;
    return OK;
}

static void add_overlap(exact_sum sums[SCORES], const overlap *o)
{
    if (o->matches == 0)
        return;
    double recall = (double)o->matches / (double)o->total[REFERENCE];
    double precision = (double)o->matches / (double)o->total[PREDICTION];
    exact_sum_add(&sums[RECALL], recall);
    exact_sum_add(&sums[PRECISION], precision);
    exact_sum_add(&sums[F1], 2.0 * recall * precision / (recall + precision));
}

static size_t drop_excluded(int64_t *tokens, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (tokens[i] != EXCLUDED)
            tokens[kept++] = tokens[i];
    return kept;
}

/* The longest common subsequence of both sides; `lengths_at` is for one number more than `n_b`. */
static int64_t common_length(const int64_t *a, size_t n_a, const int64_t *b, size_t n_b, int64_t *lengths_at)
{
    memset(lengths_at, 0, (n_b + 1) * sizeof *lengths_at);
    for (size_t i = 0; i < n_a; i++) {
        int64_t diagonal = 0;
        for (size_t k = 0; k < n_b; k++) {
            int64_t above = lengths_at[k + 1], left = lengths_at[k];
            int64_t longest = above > left ? above : left;
            lengths_at[k + 1] = a[i] == b[k] ? diagonal + 1 : longest;
            diagonal = above;
        }
    }
    return lengths_at[n_b];
}

static void add_common(exact_sum *sum, rows *r)
{
    int64_t *reference = r->tokens + r->n[PREDICTION];
    size_t n_predicted = drop_excluded(r->tokens, r->n[PREDICTION]);
    size_t n_reference = drop_excluded(reference, r->n[REFERENCE]);
    int64_t n = common_length(r->tokens, n_predicted, reference, n_reference, r->counts);
    double recall = (double)n / (double)n_reference, precision = (double)n / (double)n_predicted;
    if (n > 0)
        exact_sum_add(sum, 2.0 * recall * precision / (recall + precision));
}

static status add_rouge(metric *m, const metric_batch *b, error *err)
{
    (void)err;
    rows r = rows_make(m, b);
    for (int64_t e = 0; e < b->examples; e++) {
        rows_take(m, b, e, &r);
        for (size_t n = 0; n < rouge_size(m); n++) {
            overlap o = next_size(&r);
            add_overlap(m->state.sums + SCORES * n, &o);
        }
        add_common(&m->state.sums[SCORES * rouge_size(m)], &r);
        m->state.counts[0]++;
    }
    return OK;
}

static void put_rouge(metric *m, metric_figures *to)
{
    static const char *const ending[SCORES] = {"recall", "precision", "f1"};
    double examples = (double)m->state.counts[0];
    for (size_t i = 0; i < SCORES * rouge_size(m); i++) {
        char name[32];
        snprintf(name, sizeof name, "_%zu_%s", i / SCORES + 1, ending[i % SCORES]);
        metric_put(m, to, name, metric_ratio(exact_sum_value(&m->state.sums[i]), examples));
    }
    double common = exact_sum_value(&m->state.sums[SCORES * rouge_size(m)]);
    metric_put(m, to, "_l_f1", metric_ratio(common, examples));
}

const metric_kind metric_rouge = {
    .name = "rouge",
    .inputs = METRIC_CLASSES | METRIC_TOKENS,
    .is_of_rows = true,
    .endings = " _1_recall _1_precision _1_f1 _l_f1",
    .open = open_rouge,
    .add = add_rouge,
    .figures = put_rouge,
};
