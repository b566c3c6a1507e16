/*
 * Batches of so many tokens: examples are of the kind of the prepared length to which they are padded, and a batch of a
 * kind has as many of them as fit, filled up, into max_tokens, but batch_size at most. The smaller last batch of each
 * kind has what is left. So an epoch always has the same batches (steps.h draws their order), in other company each:
 * within its kind an example's place is drawn for the epoch.
 *
 * Memory: 4 bytes an example. Pure functions; immutable once made.
 */
#ifndef TEQUIO_DATA_LENGTH_KINDS_H
#define TEQUIO_DATA_LENGTH_KINDS_H

#include "common/base/error.h"
#include "common/parts/steps.h"

typedef struct length_kinds {
    steps_kinds kinds;
    uint32_t length[STEPS_KINDS];       /* prepared, rising */
    int64_t first[STEPS_KINDS + 1];     /* the place of each kind's first example */
    uint32_t *examples;                 /* [n] kind by kind */
} length_kinds;

typedef struct length_kinds_options {
    const uint32_t *lengths;            /* [n] of the examples */
    int64_t n;
    const uint32_t *prepared;           /* [n_prepared] rising; the last is not below any length */
    int n_prepared;
    int64_t batch_size, max_tokens;
} length_kinds_options;

/* E_CONFIG: max_tokens is less than the longest prepared length; E_NOMEM. */
MUST_USE status length_kinds_make(const length_kinds_options *options, length_kinds *ret, error *err);
void length_kinds_fini(length_kinds *k);

/* The example at a place of that epoch (steps.h); without `shuffle` that of every epoch. */
int64_t length_kinds_example(const length_kinds *k, size_t kind, uint64_t seed, int64_t epoch, bool shuffle,
                             int64_t place);

#endif
