/*
 * Lane reducer: sums what a worker's lanes compute into the tree nodes the worker owns, part by part.
 *
 * A plan says which slots of a step the worker computes; its runs of slots are covered by the
 * highest nodes possible, and a node is handed out for pushing as soon as its last slot's gradient
 * of the part is there. Plans of two steps exist at a time: a lane may be a step ahead of another.
 *
 * Threads: lane_reducer_plan before the lanes hear of the slots; lane_reducer_forget while no lane computes;
 * lane_reducer_add from any lane (a lock per part).
 */
#ifndef TEQUIO_WORKER_LANE_REDUCER_H
#define TEQUIO_WORKER_LANE_REDUCER_H

#include "common/parts/part_store.h"
#include "common/parts/tree_reducer.h"

typedef struct lane_reducer lane_reducer;

/* store: which has the gradients; NULL: the host. Kept, as `f`. */
MUST_USE status lane_reducer_create(const flat *f, uint32_t max_slots, part_store *store,
                                    lane_reducer **ret, error *err);
void lane_reducer_destroy(lane_reducer **g);

/* This worker computes `slots` (ascending) of `step`, which has n_slots. More slots of a step
 * already planned are covered by nodes of their own. */
void lane_reducer_plan(lane_reducer *g, int64_t step, uint32_t n_slots, const uint32_t *slots, uint32_t n);

/* Gives up what was planned and releases what is held of it. */
void lane_reducer_forget(lane_reducer *g);

/* The gradient of a part, of one slot or already summed over those of a node, which one that this
 * worker owns covers. If it is not `borrowed` it is copied; a borrowed span, which moves in, is used where it
 * lies (and may be summed into). *ret_sum: a complete node to push, held for the caller, or NULL. */
MUST_USE status lane_reducer_add(lane_reducer *g, int32_t part, int64_t step, tree_node node,
                                 const float *grad, span *borrowed, tree_node *ret_node,
                                 span **ret_sum, error *err);

#endif
