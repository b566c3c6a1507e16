/*
 * What a worker takes of its host's memory, as the plans of its lanes say: for those, their loaders,
 * the weights that they share, and its share of what servers hold on the same host.
 *
 * Threads: any.
 */
#ifndef TEQUIO_WORKER_MEMORY_H
#define TEQUIO_WORKER_MEMORY_H

#include "backend/registry.h"
#include "worker/variants.h"

typedef struct worker_memory {
    const config *config;
    const variants *variants;
    backend_choice device;  /* of each lane; what a device has of its own memory does not count */
    int32_t n_lanes;
    int32_t n_readers;      /* threads of each that read data ahead */
    int32_t n_servers;      /* of the cluster; 0: this process is one */
    double servers;         /* share of all servers' memory that counts here: 1 of one process that
                             * does everything */
} worker_memory;

/* With batches of at most so many examples. */
MUST_USE status worker_memory_of(const worker_memory *m, int64_t batch, size_t *ret, error *err);

/* E_NOMEM if the host has less than that left. */
MUST_USE status worker_memory_check(const worker_memory *m, error *err);

#endif
