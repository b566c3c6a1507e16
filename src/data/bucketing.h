/*
 * A dataset whose examples are of unlike length, made into batches of about equally long ones: bucket.h over
 * its lengths, or, by max_tokens, length_kinds.h, and the few lengths to which batches are padded, each of which
 * wants a graph of its own.
 *
 * A batch is as long as its longest example, rounded up to a prepared length. Without max_tokens the epoch's
 * smaller last batch holds the longest examples there are, and always has the longest of these.
 *
 * Threads: any number may call these at a time. The orders of the epochs that were asked for last are kept: 4
 * bytes an example each, made by the first that asks.
 */
#ifndef TEQUIO_DATA_BUCKETING_H
#define TEQUIO_DATA_BUCKETING_H

#include "data/bucket.h"
#include "data/data.h"
#include "data/length_kinds.h"

enum { BATCH_SHAPES = 2 * BUCKET_PREPARED };   /* of each length full batches, and a smaller one */

typedef struct bucketing_options {
    const dataset *dataset;     /* kept until bucketing_destroy */
    bucket_options batches;
    int64_t max_tokens;         /* of a batch, filled up; 0: as many as there are */
    int lengths;                /* at most so many are prepared: 1 .. BUCKET_PREPARED */
    uint32_t multiple;          /* of which they are multiples, unless an example is never that long */
} bucketing_options;

/* E_CONFIG: no field varies, so there is nothing to sort by. E_NOMEM. */
MUST_USE status bucketing_create(const bucketing_options *options, bucketing **ret, error *err);
void bucketing_destroy(bucketing **b);

/* bucket_prepare for these lengths, none above that of the fields. */
MUST_USE status bucketing_prepare(const dataset *d, const uint32_t *lengths, int64_t n, uint32_t multiple, int most,
                                  uint32_t ret[BUCKET_PREPARED], int *ret_n, error *err);

/* Every shape that batches have, and no others where that is known: with noise those that so many examples allow. [0]
 * is the largest of the longest in any case. Returns how many. */
size_t bucketing_shapes(const bucketing *b, batch_shape ret[BATCH_SHAPES]);

/* With max_tokens: the examples of each prepared length, and how many of them a batch has; else none. */
steps_kinds bucketing_kinds(const bucketing *b);

/* The batch of a slot: its examples ([slot->n]; may be NULL) and how long it is. E_NOMEM: an epoch's order
 * does not fit in memory. */
MUST_USE status bucketing_batch(bucketing *b, const step_slot *slot, int64_t *ret_examples, int64_t *ret_length,
                                error *err);

#endif
