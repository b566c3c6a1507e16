/*
 * What a recording says of one task's messages and doings (common/live/recording.h), as of the moment at which it was
 * written. Ages are microseconds before that.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_RECORDING_QUERY_H
#define TEQUIO_CLI_LOOK_RECORDING_QUERY_H

#include "common/live/recording.h"
#include "common/wire/wire.h"

/* A pull that has had no answer. */
typedef struct open_pull {
    int32_t part;
    int64_t version;
    uint32_t peer;                  /* who was asked, or asks */
    int64_t floor;                  /* modes ssp and async: all batches below it are required */
    int64_t age_us;
} open_pull;

/* Whose pulls: those of a worker, which asks once for a part; of lanes, each of which asks for itself; or those that a
 * server was asked. */
typedef enum pulls_of { PULLS_OF_WORKER, PULLS_OF_LANES, PULLS_OF_SERVER } pulls_of;

/* Free the array. */
open_pull *recording_pulls(const recording *r, pulls_of whose, size_t *ret_n);

/* The newest message of that type about the part (-1: any) at the step (-1: any); NULL: there is none. `kind` is
 * EVENT_SENT or EVENT_RECEIVED. */
const recorder_event *recording_message(const recording *r, recorder_kind kind, wire_type type, int32_t part,
                                        int64_t step);

/* The version that a server has made of the part last; -1: it does not say. */
int64_t recording_version(const recording *r, int32_t part);
/* How many slots a step has, as far as a push tells it; 0: none does. */
uint32_t recording_step_slots(const recording *r, int64_t step);
/* Which slots of the step the gradients of the part have in them that were sent, or received; ret is [n_slots]. */
void recording_slots(const recording *r, recorder_kind kind, int32_t part, int64_t step, uint32_t n_slots, bool *ret);
/* How many steps the master has all reports of; -1: it does not say. */
int64_t recording_steps_done(const recording *r);
/* The lane has computed it. */
bool recording_computed(const recording *r, int32_t lane, int64_t step, int32_t slot);

/* What a lane is at: its slot (NULL: it has none), and what it waits for within that (NULL: nothing; it computes). Of
 * an idle lane `slot` is EVENT_IDLE's. */
typedef struct lane_state {
    const recorder_event *slot, *wait;
} lane_state;

lane_state recording_lane(const recording *r, int32_t lane);
/* Of a role what it is at, by kind; NULL: it is not. */
const recorder_event *recording_at(const recording *r, recorder_kind kind);

/* The newest event of a role's, but for signs of life; NULL: there is none. */
const recorder_event *recording_last(const recording *r, role of);

int64_t recording_age(const recording *r, int64_t at_us);

#endif
