/*
 * The fixed binary tree over a step's slots, and the antichain that sums into it.
 *
 * Leaves are slots 0..n-1 in batch order. Node (level, index) covers the slots
 * [index * 2^level, min((index+1) * 2^level, n)). A node whose right half is empty equals its left
 * child; the highest of such equal nodes is their `top`, the name a fold knows them by: holding
 * (0, 2) of 3 slots means holding (1, 1) as well. A parent's value is left + right, element by
 * element, so the root's bits do not depend on who summed what, or when.
 *
 * A `fold` keeps, for one part of one step, an antichain of nodes: an incoming node covered by one
 * held is dropped; otherwise it replaces the held nodes it covers and is combined with its sibling
 * whenever that is there. Both the servers and the workers (for what their lanes produce) use it.
 *
 * What moves in is a span that only the fold then holds (span.h). One that is not `writable` (an
 * in-process message, memory of another) is never written; the sum then goes to a fresh one from
 * the pool.
 *
 * Threads: a fold, what it holds and its pool belong to one thread at a time (or one lock).
 */
#ifndef TEQUIO_COMMON_PARTS_TREE_H
#define TEQUIO_COMMON_PARTS_TREE_H

#include "common/base/error.h"
#include "common/base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tree_node {
    uint8_t level;
    uint32_t index;
} tree_node;

uint8_t tree_root_level(uint32_t n_slots); /* n_slots >= 1 */
bool tree_node_is_valid(tree_node a, uint32_t n_slots);
bool tree_node_covers(tree_node a, tree_node b); /* also when equal */
tree_node tree_node_parent(tree_node a);
tree_node tree_node_sibling(tree_node a);
uint32_t tree_node_first(tree_node a);
uint32_t tree_node_end(tree_node a, uint32_t n_slots);  /* one past the last slot */
tree_node tree_node_top(tree_node a, uint32_t n_slots); /* the highest node equal to a */

/* The highest nodes that cover exactly the slots [first, end): at most 2 * 32 of them, in order.
 * Returns their number. A node with an empty right half is reported at its highest level.
 * first <= end <= n_slots. */
size_t tree_cover(uint32_t first, uint32_t end, uint32_t n_slots, tree_node ret[64]);

/* dst = a + b, element by element; dst may be a or b. The one addition of the tree. */
void tree_sum(float *dst, const float *a, const float *b, size_t n);

/* Where fresh, writable spans of n floats come from, held for the fold. */
typedef struct fold_pool {
    MUST_USE status (*take)(void *owner, size_t n, span **ret, error *err);
    void *owner;
    struct part_engine *engine; /* where these and all others lie, and are added up; NULL: on the host */
} fold_pool;

typedef struct fold fold;

typedef enum fold_result {
    FOLD_HELD,     /* taken; `target` not complete yet */
    FOLD_COVERED,  /* dropped: what it holds already covers it */
    FOLD_COMPLETE, /* `target` is complete: fold_take gives it */
} fold_result;

/* A fold serves one part and is reused step after step with fold_begin. All its memory is taken
 * here: later only the pool gives any. max_slots >= 1. */
MUST_USE status fold_create(uint32_t max_slots, fold **ret, error *err);
void fold_destroy(fold **f); /* releases what is held */

/* Start a step of 1 .. max_slots slots; releases what is held. */
void fold_begin(fold *f, uint32_t n_slots);

/*
 * `s`, a node's sum, moves in in every case but failure, which changes nothing:
 * E_PROTOCOL for a node the tree does not have or a span of another size than those held, or what
 * the pool says. `target` is the node the caller waits for (a server: the root; a worker: the node
 * it owns that covers this one); sums go up to it and no further. One call takes at most one span
 * from the pool, and only when neither of two siblings is writable.
 */
MUST_USE status fold_add(fold *f, tree_node node, span *s, tree_node target, const fold_pool *pool,
                         fold_result *ret, error *err);

/* The span of a complete node moves out; NULL if that node is not held. What was taken no longer
 * covers anything: the same node may come again. */
span *fold_take(fold *f, tree_node node);

size_t fold_held(const fold *f); /* spans held */
/* Which slots have arrived since fold_begin, also if taken since, as bits of
 * ret[(max_slots + 63) / 64]; for messages about waiting. */
void fold_arrived(const fold *f, uint64_t *ret);

#endif
