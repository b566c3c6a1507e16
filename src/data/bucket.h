/*
 * Batches of examples that are about equally long: which examples each batch of an epoch has is a pure
 * function of (seed, epoch, lengths), so any lane can make any batch.
 *
 * As AllenNLP's samplers do it: every length is multiplied by a random factor of 1 - padding_noise to 1 +
 * padding_noise, the examples are sorted by that, and cut in this order into batches of batch_size. Then the
 * batches, not the examples, are shuffled. Unlike there, the one batch
 * that is smaller than batch_size stays the last: so batch b of an epoch takes the places b * batch_size
 * and so on of its order, as steps.h counts them.
 *
 * A batch is padded to a prepared length, one of a few, so that few graphs have to be planned:
 * bucket_prepare chooses those that pad least.
 *
 * What an engine over these needs: a plan for each prepared length (and each size of a batch), made before
 * step 0, all in memory as large as the largest one's. Batches of so many tokens are in length_kinds.h.
 *
 * Threads: pure functions; an epoch is immutable once made.
 */
#ifndef TEQUIO_DATA_BUCKET_H
#define TEQUIO_DATA_BUCKET_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct bucket_options {
    uint64_t seed;
    int64_t batch_size;         /* >= 1 */
    double padding_noise;       /* 0 .. 1; of no effect without shuffle */
    bool drop_last;             /* the smaller batch, if it is not the only one */
    bool shuffle;
} bucket_options;

/* 4 bytes an example; while it is made a batch and a bit a batch more, and without noise 4 bytes for each length up to
 * the longest, if that is below n. */
typedef struct bucket_epoch {
    int64_t n, n_batches;
    int64_t batch_size;
    uint32_t *order;            /* [n] the example at each place */
} bucket_epoch;

/* lengths[n], n >= 1, each >= 1. E_DATA: there are 2^32 of them; E_NOMEM. */
MUST_USE status bucket_epoch_make(const bucket_options *options, int64_t epoch, const uint32_t *lengths,
                                  int64_t n, bucket_epoch *ret, error *err);
void bucket_epoch_free(bucket_epoch *e);

/* The places of batch `batch`, 0 .. n_batches-1: [*ret_first, *ret_first + returned). */
int64_t bucket_batch(const bucket_epoch *e, int64_t batch, int64_t *ret_first);
/* The longest example of a batch. */
uint32_t bucket_longest(const bucket_epoch *e, const uint32_t *lengths, int64_t batch);

enum { BUCKET_PREPARED = 16 };  /* lengths at most */

/* Up to `most` lengths (1 .. BUCKET_PREPARED), rising, multiples of `multiple`: the last is not below the
 * longest, and padding each example to the next one of them takes the fewest tokens that so many lengths
 * allow. Returns how many. */
MUST_USE status bucket_prepare(const uint32_t *lengths, int64_t n, uint32_t multiple, int most,
                               uint32_t ret[BUCKET_PREPARED], int *ret_n, error *err);
/* The first of prepared[n] that is not below `length`; BUG if there is none. */
uint32_t bucket_padded(const uint32_t *prepared, int n, uint32_t length);

#endif
