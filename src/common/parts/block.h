/*
 * Blocks: refcounted spans of float32, the memory of one part's weights, optimizer state or sums.
 *
 * An update writes into a block nobody else holds; answers to pulls and checkpoints hold the blocks
 * they read. So nothing is ever overwritten under a reader, and nothing is copied for one.
 *
 * A pool serves one part. It grows to what readers keep busy and then stays. Blocks start zeroed;
 * what nobody writes (the gaps between tensors) stays zero. They lie on the host, or where the pool's
 * engine has them (engine.h).
 *
 * Threads: taking from a pool belongs to one thread at a time (or one lock); block_hold where the
 * block is held already; block_drop from any.
 */
#ifndef TEQUIO_COMMON_PARTS_BLOCK_H
#define TEQUIO_COMMON_PARTS_BLOCK_H

#include "common/parts/engine.h"
#include "common/parts/tree.h"

#include <stdatomic.h>

typedef struct block {
    part_engine *engine;        /* where data lies; NULL: on the host */
    float *data;
    size_t n;
    bool is_over;               /* data is somebody else's, who keeps it for longer */
    atomic_int refs;            /* 1 while the pool is the only holder: free */
    fold_block fold;            /* this block as a fold wants it: writable, release drops it */
} block;

typedef struct block_pool {
    block **blocks;
    size_t n_blocks, cap, n;    /* n: floats in each */
    part_engine *engine;        /* of each; may be set once block_pool_init has made it NULL. Kept */
} block_pool;

void block_pool_init(block_pool *p, size_t n);
/* Blocks still held elsewhere (a message under way) outlive the pool and end with their last drop. */
void block_pool_fini(block_pool *p);

/* A block of `n` floats on the host that no pool has, held for the caller; any thread may make one. */
MUST_USE status block_create(size_t n, block **ret, error *err);
/* The same of the engine's, over memory that outlives it. */
block *block_over(part_engine *e, float *data, size_t n);
/* It moves into a pool of such blocks, there as here, free. */
void block_pool_add(block_pool *p, block **b);
size_t block_pool_free(const block_pool *p);    /* how many are */

/* A free block, held for the caller. */
MUST_USE status block_pool_take(block_pool *p, block **ret, error *err);

/* The pool as a fold wants it. */
fold_pool block_pool_for_fold(block_pool *p);

block *block_hold(block *b);
bool block_is_shared(const block *b);           /* somebody beside one holder holds it */
void block_drop(block *b);                      /* NULL is fine */

#endif
