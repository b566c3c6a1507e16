/*
 * The crew: a worker's lanes in the modes ssp and async, each with a runner of its own.
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_CREW_H
#define TEQUIO_WORKER_CREW_H

#include "worker/runner.h"

typedef struct crew crew;

typedef struct crew_options {
    const flat *flat;
    kv_options kv;        /* every runner's; hooks as runner_options has them */
    board *const *boards; /* [n_lanes] */
    lane *const *lanes;   /* [n_lanes] */
    int32_t n_lanes;
    runner_done_fn *done;
    void *user;
} crew_options;

MUST_USE status crew_create(const crew_options *options, crew **ret, error *err);
void crew_destroy(crew **c);

/* A new era: job id, era and incarnation in `identity`. */
MUST_USE status crew_begin(crew *c, const wire_head *identity, const steps *s, error *err);
MUST_USE status crew_lease(crew *c, uint32_t index, int64_t batch, int64_t floor, error *err);
MUST_USE status crew_serve(crew *c, error *err);
MUST_USE status crew_tick(crew *c, error *err);

/* The sockets to poll, [n_lanes * kv.n_servers]. */
net_socket *const *crew_sockets(crew *c);

/* For messages about waiting. */
int64_t crew_reported(const crew *c); /* batches, in this era */
bool crew_is_computing(const crew *c);
kv *crew_kv(const crew *c); /* one of them: who is a part's server, is it up */
/* The lowest batch that waits for weights, and its first part missing; false: none waits. */
bool crew_is_waiting(const crew *c, int64_t *ret_batch, int32_t *ret_part);

#endif
