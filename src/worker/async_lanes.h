/*
 * Async lanes: a worker's lanes in the modes ssp and async, each with an async_lane of its own.
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_ASYNC_LANES_H
#define TEQUIO_WORKER_ASYNC_LANES_H

#include "worker/async_lane.h"

typedef struct async_lanes async_lanes;

typedef struct async_lanes_options {
    const flat *flat;
    kv_options kv;        /* every async_lane's; hooks as async_lane_options has them */
    const lane_shared *shared; /* [n_lanes] */
    lane *const *lanes;   /* [n_lanes] */
    int32_t n_lanes;
    async_lane_done_fn *done;
    void *user;
} async_lanes_options;

MUST_USE status async_lanes_create(const async_lanes_options *options, async_lanes **ret, error *err);
void async_lanes_destroy(async_lanes **c);

/* A new era: job id, era and incarnation in `identity`. */
MUST_USE status async_lanes_begin(async_lanes *c, const wire_head *identity, const steps *s, error *err);
MUST_USE status async_lanes_lease(async_lanes *c, uint32_t index, int64_t batch, int64_t floor, error *err);
MUST_USE status async_lanes_serve(async_lanes *c, error *err);
MUST_USE status async_lanes_tick(async_lanes *c, error *err);

/* The sockets to poll, [n_lanes * kv.n_servers]. */
net_socket *const *async_lanes_sockets(async_lanes *c);

/* For messages about waiting. */
int64_t async_lanes_reported(const async_lanes *c); /* batches, in this era */
bool async_lanes_is_computing(const async_lanes *c);
kv *async_lanes_kv(const async_lanes *c); /* one of them: who is a part's server, is it up */
/* How the connections of all lanes to a server stand, together. */
void async_lanes_describe(const async_lanes *c, int32_t server, kv_link *ret);
/* The lowest batch that waits for weights, and its first part missing; false: none waits. */
bool async_lanes_is_waiting(const async_lanes *c, int64_t *ret_batch, int32_t *ret_part);

#endif
