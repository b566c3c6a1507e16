/*
 * The slots that a worker's lanes have of a step: which are ours, which were given, and what of the weights
 * they still read. Lanes that are done with a step get those of the next one, so there are two steps at most.
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_LANE_SLOTS_H
#define TEQUIO_WORKER_LANE_SLOTS_H

#include "common/parts/steps.h"
#include "worker/lane.h"
#include "worker/lane_reducer.h"
#include "worker/nodes.h"

/* What this worker computes of every step, by slot: a lane of ours or -1. */
typedef struct lane_share {
    size_t n_slots;
    const int32_t *own;
    const int32_t *hedged;      /* another's, which we compute too, after ours */
    int64_t since;              /* no step before it is owed: where a worker begins that holds nothing */
} lane_share;

typedef struct lane_slots {
    const flat *flat;
    lane *const *lanes;
    int32_t n_lanes;
    peers *peers;               /* of the lanes' engines; NULL: each gives what it has made */
    steps steps;
    lane_reducer *reducer;      /* NULL before the first era */

    int32_t *own, *hedged;      /* [per_step] */
    int64_t given;              /* the step whose slots the lanes have, or had last */
    uint32_t n_given, owed;     /* slots given of it; of those not done */
    int64_t done;               /* the last step whose slots given are all done; -1: none */
    int64_t done_us;            /* when they were; 0: nothing is done since slots were dropped */
    bool *is_given;             /* [per_step] */
    bool *was_given;            /* [per_step] the same of the step before */
    uint32_t *readers;          /* [n_live_parts] slots given that still read the part */

    /* while slots are given */
    uint32_t *scratch;          /* [per_step] */
    reduce_group **with;        /* [per_step] what a lane's sum goes into, by its last slot */
    nodes_group *groups;        /* [n_lanes] */
    int32_t *members;           /* [n_lanes] of one of them */
    tree_node *contributed;     /* [n_lanes] what each of them has */
} lane_slots;

/* What is pointed to is kept. */
void lane_slots_init(lane_slots *l, const flat *f, lane *const *lanes, int32_t n_lanes, peers *with);
/* Of lanes that are idle. */
void lane_slots_fini(lane_slots *l);

/* An era of such steps: nothing is ours yet. `store` as of lane_reducer_create. Of lanes that are idle. */
MUST_USE status lane_slots_begin(lane_slots *l, const steps *s, part_store *store, error *err);
/* Steps before `step` are over, and nothing of any other is given. Of lanes that are idle. */
void lane_slots_restart(lane_slots *l, int64_t step);

/* E_PROTOCOL unless it has as many slots as the steps begun with. */
MUST_USE status lane_slots_own(lane_slots *l, const lane_share *share, error *err);
bool lane_slots_any_own(const lane_slots *l);
/* Some slot of ours was not given: of the step given, of the one before it. */
bool lane_slots_owe(const lane_slots *l);
bool lane_slots_owe_before(const lane_slots *l);

/* Gives what is ours of the step given and was not given yet. Steps before `limit` may follow. Returns how many
 * these were. */
uint32_t lane_slots_give(lane_slots *l, int64_t limit);
/* On to the next step, of which nothing is given yet. */
void lane_slots_next(lane_slots *l);
/* Back to the step before, as it was given, and all of it done. Of lanes that are idle. */
void lane_slots_back(lane_slots *l);

/* A slot is finished with the part. True: no slot given reads it any more. */
bool lane_slots_read(lane_slots *l, int32_t part);
/* A slot is done. */
void lane_slots_done(lane_slots *l, int64_t at_us);

#endif
