/*
 * distributed.cuda_devices: where lanes compute. Nothing named is the CPU. Entry i is for the i-th
 * lane of all, counted over the workers; behind the last it begins again with the first. So with
 * one lane a worker it is one entry a worker, and with as many lanes as entries each worker has
 * them all, on a machine of its own.
 */
#ifndef TEQUIO_CLI_PLAY_DEVICES_H
#define TEQUIO_CLI_PLAY_DEVICES_H

#include "backend/registry.h"
#include "common/config/config.h"

/* Lanes of a task: distributed.lanes, else one for each entry, else as many as there are CPUs for. */
int32_t devices_lanes(const config *c);

/* Of lane `lane`, counted over all workers. E_CONFIG names an entry that is none, and refuses a
 * list of both kinds: their bits differ. */
MUST_USE status devices_of_lane(const config *c, int64_t lane, backend_choice *ret, error *err);

/* Before anything is begun: E_CONFIG if one of them is not there. GPUs are asked for in a process
 * of its own, so nothing of them stays in this one. */
MUST_USE status devices_check(const config *c, error *err);

#endif
