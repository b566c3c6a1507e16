/*
 * The tree reducer: adds the nodes of a step's tree (tree.h) up as they come.
 *
 * It keeps, for one part of one step, an antichain of nodes, each under its top name: an incoming node
 * that one held covers is dropped; otherwise it replaces the held nodes it covers, and is combined with
 * its sibling whenever that is there. Servers use it, and workers for what their lanes produce.
 *
 * What moves in is a span that only the reducer then holds (span.h). One that is not `writable` (an
 * in-process message, memory of another) is never written; the sum then goes to a fresh one from
 * the pool.
 *
 * Threads: a reducer, what it holds and its pool belong to one thread at a time (or one lock).
 */
#ifndef TEQUIO_COMMON_PARTS_TREE_REDUCER_H
#define TEQUIO_COMMON_PARTS_TREE_REDUCER_H

#include "common/base/error.h"
#include "common/base/span.h"
#include "common/parts/tree.h"

/* Where fresh, writable spans of n floats come from, held for the reducer. */
typedef struct tree_reducer_pool {
    MUST_USE status (*take)(void *owner, size_t n, span **ret, error *err);
    void *owner;
    struct part_store *store; /* where these and all others lie, and are added up */
} tree_reducer_pool;

typedef struct tree_reducer tree_reducer;

typedef enum tree_reduced {
    TREE_HELD,     /* taken; `target` not complete yet */
    TREE_COVERED,  /* dropped: what it holds already covers it */
    TREE_COMPLETE, /* `target` is complete: tree_reducer_take gives it */
} tree_reduced;

/* A reducer serves one part, and is used again step after step with tree_reducer_begin. All its memory is
 * taken here: later only the pool gives any. max_slots >= 1. */
MUST_USE status tree_reducer_create(uint32_t max_slots, tree_reducer **ret, error *err);
void tree_reducer_destroy(tree_reducer **r); /* releases what is held */

/* Start a step of 1 .. max_slots slots; releases what is held. */
void tree_reducer_begin(tree_reducer *r, uint32_t n_slots);

/*
 * `s`, a node's sum, moves in in every case but failure, which changes nothing:
 * E_PROTOCOL for a node the tree does not have or a span of another size than those held, or what
 * the pool says. `target` is the node the caller waits for (a server: the root; a worker: the node
 * it owns that covers this one); sums go up to it and no further. One call takes at most one span
 * from the pool, and only when neither of two siblings is writable.
 */
MUST_USE status tree_reducer_add(tree_reducer *r, tree_node node, span *s, tree_node target,
                                 const tree_reducer_pool *pool, tree_reduced *ret, error *err);

/* The span of a complete node moves out; NULL if that node is not held. What was taken no longer
 * covers anything: the same node may come again. */
span *tree_reducer_take(tree_reducer *r, tree_node node);

size_t tree_reducer_held(const tree_reducer *r); /* spans held */
/* Which slots have arrived since tree_reducer_begin, also if taken since, as bits of
 * ret[(max_slots + 63) / 64]; for messages about waiting. */
void tree_reducer_arrived(const tree_reducer *r, uint64_t *ret);

#endif
