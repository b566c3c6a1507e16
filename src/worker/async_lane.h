/*
 * An async lane: one lane in the modes ssp and async, where every lane runs by itself.
 *
 * It has its own connections (a kv) and its own copy of the weights. For every batch it
 * is leased it asks all parts' newest weights, as soon as the servers have what the start rule asks
 * for; the lane computes; every part is pushed as soon as it is ready; when all servers have
 * acknowledged all parts the batch is reported.
 *
 *  - The lowest batch leased comes first. A batch that has not all its weights yet gives way to a
 *    lower one: all the others may be waiting for just that.
 *  - While the lane computes, what it has let go of is asked for the next batch.
 *  - Nothing of a batch is pushed before all its weights are here, so giving way loses nothing.
 *  - A batch is leased again until its report arrives, so the last reports are kept and said again.
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_ASYNC_LANE_H
#define TEQUIO_WORKER_ASYNC_LANE_H

#include "common/parts/steps.h"
#include "kv/kv.h"
#include "worker/lane.h"

enum { ASYNC_LANE_LEASES = 16, ASYNC_LANE_REPORTS = 16 };

typedef struct async_lane async_lane;

typedef status async_lane_done_fn(void *user, const note *n, error *err);

typedef struct async_lane_options {
    const flat *flat;
    kv_options kv; /* of its hooks welcome, refused and user are called, others are the async_lane's */
    lane_shared shared; /* the lane's alone */
    lane *lane;
    async_lane_done_fn *done; /* hears of each batch that is computed and acknowledged everywhere */
    void *user;
} async_lane_options;

MUST_USE status async_lane_create(const async_lane_options *options, async_lane **ret, error *err);
void async_lane_destroy(async_lane **r);

/* A new era: drops all leases and all weights. */
MUST_USE status async_lane_begin(async_lane *r, uint64_t job_id, uint32_t era, uint32_t incarnation,
                                 const steps *s, error *err);

/* A batch to compute; every part must have all batches below `floor`. What cannot be held is left
 * to be said again. */
MUST_USE status async_lane_lease(async_lane *r, int64_t batch, int64_t floor, error *err);

/* Handles what arrived from servers and lane. Never blocks. */
MUST_USE status async_lane_serve(async_lane *r, error *err);
/* About once a second: keeps connections alive. */
MUST_USE status async_lane_tick(async_lane *r, error *err);

kv *async_lane_kv(const async_lane *r);
int64_t async_lane_reported(const async_lane *r); /* batches reported in this era */
bool async_lane_is_computing(const async_lane *r); /* it has a batch and all weights for it */
/* The batch that waits for weights and the first part missing; false: none waits. */
bool async_lane_is_waiting(const async_lane *r, int64_t *ret_batch, int32_t *ret_part);

#endif
