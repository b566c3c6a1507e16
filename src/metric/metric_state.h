/*
 * What a metric has counted so far: integers, exact sums, pairs of numbers that wait to be ranked, rows of
 * examples that wait for others of their key, and predictions that are kept whole.
 * States of parts of the examples merge, in any order and grouping, to the state of all of them, to the bit;
 * so they can be made by other threads and processes, and be written and read.
 *
 * Memory: 8 bytes a count, 552 a sum, 8 a pair, 40 a row, 4 a value; pairs are one for each label that counts, and
 * only rank metrics keep them; rows are one for each example, of metrics that compare examples; values are a
 * temperature's.
 * Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_METRIC_STATE_H
#define TEQUIO_METRIC_METRIC_STATE_H

#include "common/base/buf.h"
#include "common/base/error.h"
#include "metric/exact_sum.h"

/* An example, among those of its key; no two have key and place in common. Numbers are no NaN. */
typedef struct metric_row {
    int64_t key, place;
    double score, worth[2];
} metric_row;

typedef struct metric_state {
    int64_t *counts;
    exact_sum *sums;
    uint64_t *pairs; /* metric_pair; the first n_sorted in ascending order */
    metric_row *rows; /* in any order until they are sorted */
    float *values;    /* in any order of predictions until they are sorted */
    size_t n_counts, n_sums, n_pairs, n_sorted, pairs_cap, n_rows, rows_cap, n_values, values_cap;
    size_t values_each; /* of a prediction; 0: none is kept yet */
} metric_state;

/* E_NOMEM. */
MUST_USE status metric_state_init(metric_state *s, size_t n_counts, size_t n_sums, error *err);
void metric_state_fini(metric_state *s);
/* Back to nothing counted; memory is kept. */
void metric_state_clear(metric_state *s);

/* A pair orders by its first number, then by its second. Numbers are no NaN; -0 counts as 0. */
uint64_t metric_pair(float first, float second);
float metric_pair_first(uint64_t pair);
float metric_pair_second(uint64_t pair);
/* E_NOMEM. */
MUST_USE status metric_state_add_pair(metric_state *s, uint64_t pair, error *err);
void metric_state_sort(metric_state *s);
void metric_sort_pairs(uint64_t *pairs, size_t n);

/* E_NOMEM. */
MUST_USE status metric_state_add_row(metric_state *s, const metric_row *row, error *err);
/* By key, then by place. */
void metric_state_sort_rows(metric_state *s);

/* The values of a prediction, of all as many. E_NOMEM, also where the host's memory is nearly used up. */
MUST_USE status metric_state_add_values(metric_state *s, const float *values, size_t n, error *err);

/* The shapes are equal. E_NOMEM. */
MUST_USE status metric_state_merge(metric_state *into, metric_state *from, error *err);

/* Appends the state to `to`: equal states give equal bytes, on machines whose low bytes come first. */
void metric_state_save(metric_state *s, buf *to);
/* Takes it off the front of `*from`, `*bytes` long, into a fresh state of that shape. E_DATA, E_NOMEM. */
MUST_USE status metric_state_load(metric_state *s, const char **from, size_t *bytes, error *err);

#endif
