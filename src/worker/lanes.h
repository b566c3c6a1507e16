/*
 * A worker's lanes, and what they share.
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_LANES_H
#define TEQUIO_WORKER_LANES_H

#include "worker/lane.h"

typedef struct worker worker;

typedef struct worker_lanes {
    lane **at;                      /* [n_lanes] */
    lane_shared *shared;            /* [n_shared] */
    int32_t n_shared;               /* 1: of all lanes; else one a lane */
    peers *peers;                   /* of the lanes' engines; NULL: none */
} worker_lanes;

MUST_USE status worker_build_lanes(worker *w, error *err);
/* Memory borrowed from servers goes back, as before the worker's thread sleeps. */
MUST_USE status worker_settle_stores(const worker *w, error *err);
/* Before lanes end: nothing is on its way to their devices any more. */
void worker_leave_stores(const worker *w);
void worker_unbuild_lanes(worker *w);

/* What all lanes have; E_CONFIG: else their bits would be mixed. */
MUST_USE status worker_fingerprint(const worker *w, char *ret, size_t bytes, error *err);

#endif
