/*
 * distributed.cuda_devices: where lanes compute. Entry i is for the i-th lane of all, counted over
 * the workers; behind the last it begins again with the first. So with one lane a worker it is one
 * entry a worker, and with as many lanes as entries each worker has them all, on a machine of its
 * own. Where the list is not given it is all GPUs that are visible and alike, or the CPU.
 *
 * GPUs are looked for in a process of its own, so nothing of them stays in this one, and only where
 * a driver is. Threads: main thread only, before it starts others.
 */
#ifndef TEQUIO_CLI_RUN_DEVICES_H
#define TEQUIO_CLI_RUN_DEVICES_H

#include "backend/cuda/cuda.h"
#include "backend/registry.h"
#include "common/cluster/cluster.h"
#include "common/config/config.h"

typedef struct devices {
    const config *config;
    cuda_gpus gpus;         /* taken where the list is not given; n == 0: the CPU */
    error trouble;          /* why there are GPUs and none can be used; OK: there is none */
} devices;

/* With `check`, E_CONFIG if a GPU of the list is not there. */
MUST_USE status devices_find(const config *c, bool check, devices *ret, error *err);

/* E_CONFIG if that device cannot train in the configured trainer.precision at all. */
MUST_USE status devices_train(const config *c, const backend_choice *on, error *err);

/* The number of a worker's first lane: over all workers, or, of a rank that knows its local rank, over
 * those of its host. */
int64_t devices_first_lane(const cluster *k, int32_t worker, int32_t lanes);

/* Of lane `lane`, counted like that. E_CONFIG names an entry that is none, and refuses a
 * list of both kinds, whose bits differ, and a device that cannot train. */
MUST_USE status devices_of_lane(const devices *d, int64_t lane, backend_choice *ret, error *err);
/* Of an evaluator that is not told otherwise: the first lane's, if the CPU in any precision. */
MUST_USE status devices_of_evaluator(const devices *d, backend_choice *ret, error *err);

/* Says in the log which GPUs the first n lanes have, and why. Of the CPU only if there was a
 * choice. */
void devices_log(const devices *d, const backend_choice *lanes, int32_t n);

/* For who computes once and names no device: the first GPU that can be used, else the CPU. */
backend_choice devices_one(int threads);

#endif
