/*
 * The shape of a run on this machine: how many tasks, lanes and threads. Pure function of the
 * configuration and the number of CPUs.
 */
#ifndef TEQUIO_CLI_TRAIN_SHAPE_H
#define TEQUIO_CLI_TRAIN_SHAPE_H

#include "common/config/config.h"

typedef struct shape {
    int workers, ps, evaluators; /* all 0: one process */
    int lanes;                   /* of each worker, or of the one process */
    int threads;                 /* of each lane */
    int64_t batches_per_step;    /* K of a job that starts now */
} shape;

/* Without other words each of several entries of distributed.cuda_devices has a worker. Workers
 * without a server get one, or two where it needs a standby. E_USAGE for servers or an evaluator
 * without workers, and for one server without another to hold its copies. */
MUST_USE status shape_of(const config *c, int cpus, shape *ret, error *err);

#endif
