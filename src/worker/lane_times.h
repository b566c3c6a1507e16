/*
 * Where a lane's time goes: within a slot it computes, from one part to the next, and waits for weights and examples;
 * between slots it is idle. Counters (common/live/counters.def), which hear for whom it stood still too (stall.h), and
 * the flight recorder (common/live/recorder.h) are told.
 *
 * Threads: a lane's own.
 */
#ifndef TEQUIO_WORKER_LANE_TIMES_H
#define TEQUIO_WORKER_LANE_TIMES_H

#include "common/live/recorder.h"
#include "common/parts/steps.h"
#include "exec/exec.h"
#include "graph/graph.h"
#include "worker/stall.h"
#include "worker/weights_view.h"

typedef struct lane_times {
    int32_t lane;
    int64_t step, batch, examples;  /* of the slot */
    int32_t slot, variant;          /* which it is; by which it is computed, if it is traced */
    int64_t begin_us;               /* of it, or of being idle */
    int64_t counted_us;             /* of being idle so long is counted */
    int64_t slots;                  /* that lanes of the process had ended when it was counted last */
    int64_t waited_us;              /* in it, for weights: says nothing about this lane */
    int64_t loaded_us;              /* in it, for examples */
    int64_t since_us;               /* since then it computes, or waits... */
    int32_t part;                   /* ...for this one; -1: for the first to come */

    weights_view *weights;          /* that knows why parts take their time; NULL: nobody does */
    bool has_begun;                 /* its first slot */
    int64_t held_us;                /* as it became idle: for how long the master had let nobody go on */
    int64_t given_us;               /* when it had a slot, and its gradients were not taken yet; 0: not so */
    int64_t untaken_us;             /* before this slot that was so for so long; 0 once it is accounted for... */
    int64_t taken_us;               /* ...and until then */
    stall stall;                    /* in this slot, and just before it */
    exec_trace trace;
} lane_times;

void lane_times_idle(lane_times *t);
/* It still is. Where others have ended slots since, that is counted so far, as theirs are; not the time in which the
 * master lets nobody go on, of which the end tells. A lane that has had no slot begins so. */
void lane_times_idle_on(lane_times *t);
/* Whether a slot is there; but gradients of the last one are not taken yet. */
void lane_times_given(lane_times *t, bool is_given);
/* As a slot of that step is begun; as of lane_slot. */
void lane_times_idle_end(lane_times *t, int64_t step, int64_t free_us);

void lane_times_slot(lane_times *t, int64_t step, uint32_t slot, const step_slot *batch);
void lane_times_slot_end(lane_times *t);
/* It came to nothing. */
void lane_times_slot_drop(lane_times *t);
double lane_times_computing_s(const lane_times *t);     /* so far, without waits for weights */

/* What was computed since the part before ends where a part's gradient is ready... */
void lane_times_ready(lane_times *t, int32_t part);
/* ...and what is computed for the next one begins. */
void lane_times_go_on(lane_times *t);

/* A wait: EVENT_WAIT_PART, EVENT_WAIT_SCALE or EVENT_LOAD. */
void lane_times_wait(lane_times *t, recorder_kind what, int32_t part);
void lane_times_wait_end(lane_times *t, recorder_kind what);

/* Who is to hear of the nodes of this slot's run, which are those of a variant: NULL unless its step is traced
 * (common/live/trace.h). It stays until the next slot. */
const exec_trace *lane_times_trace(lane_times *t, const graph *g, int32_t variant);

#endif
