/*
 * How long batches are that take the examples in their order, as evaluation and prediction do: each as its longest
 * example, rounded up to one of a few prepared lengths, so that little is padded and few graphs are planned. A pure
 * function of the lengths and the size of a batch: it is the same whoever makes the batch.
 *
 * Threads: immutable once made.
 */
#ifndef TEQUIO_DATA_BATCH_LENGTHS_H
#define TEQUIO_DATA_BATCH_LENGTHS_H

#include "data/bucket.h"
#include "data/data.h"

typedef struct batch_lengths_options {
    const dataset *dataset;     /* whose examples have lengths (dataset_lengths); kept */
    int64_t batch_size;
    int lengths;                /* at most so many are prepared: 1 .. BUCKET_PREPARED */
    uint32_t multiple;          /* of which they are multiples, unless an example is never that long */
} batch_lengths_options;

enum { BATCH_LENGTHS_SHAPES = BUCKET_PREPARED + 1 }; /* a full batch of each length, and the last one */

MUST_USE status batch_lengths_make(const batch_lengths_options *options, batch_lengths **ret, error *err);
void batch_lengths_destroy(batch_lengths **b);

/* Of the batch of examples first .. first+n-1. */
int64_t batch_lengths_of(const batch_lengths *b, int64_t first, int64_t n);
/* Every shape that full batches have, from the longest, which is there in any case, and then that of a smaller last
 * one. Returns how many. */
size_t batch_lengths_shapes(const batch_lengths *b, batch_shape ret[BATCH_LENGTHS_SHAPES]);

#endif
