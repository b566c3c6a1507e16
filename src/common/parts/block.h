/*
 * Blocks: where the weights, optimizer state and sums of one part lie, given out as spans (span.h).
 *
 * An update writes into a block nobody else holds; answers to pulls and checkpoints hold the ones
 * they read. So nothing is ever overwritten under a reader, and nothing is copied for one.
 *
 * A pool serves one part. It grows to what readers keep busy and then stays. Blocks start zeroed;
 * what nobody writes (the gaps between tensors) stays zero. They lie in the pool's
 * store (part_store.h). The last drop of a block's span makes the block free.
 *
 * Threads: a pool belongs to one thread at a time (or one lock); the spans to whom span.h says.
 */
#ifndef TEQUIO_COMMON_PARTS_BLOCK_H
#define TEQUIO_COMMON_PARTS_BLOCK_H

#include "common/base/span.h"
#include "common/parts/part_store.h"
#include "common/parts/tree_reducer.h"

typedef struct block block;

typedef struct block_pool {
    block **blocks;
    size_t n_blocks, cap, n;    /* n: floats in each */
    part_store *store;          /* where they lie */
} block_pool;

void block_pool_init(block_pool *p, size_t n, part_store *store);   /* kept */
/* Blocks still held elsewhere (a message under way) outlive the pool and end with their last drop. */
void block_pool_fini(block_pool *p);

/* A block of `n` floats on the host that no pool has, held for the caller; any thread may make one. */
MUST_USE status block_create(size_t n, span **ret, error *err);
/* The same in that store, over memory of it that outlives the block. */
span *block_over(part_store *store, float *data, size_t n);
/* Such a block, which nobody else holds, moves into a pool of such blocks, there as here: free. */
void block_pool_add(block_pool *p, span **b);
size_t block_pool_free(const block_pool *p);    /* how many are */

/* A free block, held for the caller. */
MUST_USE status block_pool_take(block_pool *p, span **ret, error *err);

/* The pool as a tree reducer wants it. */
tree_reducer_pool block_pool_for_reducer(block_pool *p);

#endif
