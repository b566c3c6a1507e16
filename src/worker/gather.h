/*
 * Gather: sums what a worker's lanes compute into the tree nodes the worker owns, part by part.
 *
 * A plan says which slots of a step the worker computes; its runs of slots are covered by the
 * highest nodes possible, and a node is handed out for pushing as soon as its last slot's gradient
 * of the part is there. Plans of two steps exist at a time: a lane may be a step ahead of another.
 *
 * Threads: gather_plan before the lanes hear of the slots; gather_forget while no lane computes;
 * gather_add from any lane (a lock per part).
 */
#ifndef TEQUIO_WORKER_GATHER_H
#define TEQUIO_WORKER_GATHER_H

#include "common/parts/engine.h"
#include "common/parts/tree.h"

typedef struct gather gather;

/* engine: which has the gradients; NULL: the host. Kept, as `f`. */
MUST_USE status gather_create(const flat *f, uint32_t max_slots, part_engine *engine, gather **ret,
                              error *err);
void gather_destroy(gather **g);

/* This worker computes `slots` (ascending) of `step`, which has n_slots. More slots of a step
 * already planned are covered by nodes of their own. */
void gather_plan(gather *g, int64_t step, uint32_t n_slots, const uint32_t *slots, uint32_t n);

/* Gives up what was planned and releases what is held of it. */
void gather_forget(gather *g);

/* The gradient of a part, of one slot or already summed over those of a node, which one that this
 * worker owns covers. If it is not `lent` it is copied; a lent span, which moves in, is used where it
 * lies (and may be summed into). *ret_sum: a complete node to push, held for the caller, or NULL. */
MUST_USE status gather_add(gather *g, int32_t part, int64_t step, tree_node node, const float *grad,
                           span *lent, tree_node *ret_node, span **ret_sum, error *err);

#endif
