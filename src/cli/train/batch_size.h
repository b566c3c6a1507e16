/*
 * `data_loader.batch_size: "auto"`: which batch a lane computes about as fast as any that fits into memory.
 *
 * Powers of two are tried, from 8 on. Whether one fits, plans say (worker/memory.h), as they do of a job: for all
 * lanes of this machine, within trainer.memory and the limits of host and container. Whether it fits on a GPU is found
 * by making the engine of one lane there, in a process of its own: several lanes on one GPU are not counted. A
 * lane then computes steps of those that fit, of which the fastest counts, until two in a row are no faster than those
 * before. The choice is the smallest whose examples a second are BATCH_CLOSE of the most: more steps an epoch cost
 * nothing then. A step takes a tenth of an epoch at most.
 *
 * Clocks differ from run to run, so it is chosen once: what trains is told the number.
 * Threads: main thread only, before it starts others; what is tried has a process of its own.
 */
#ifndef TEQUIO_CLI_TRAIN_BATCH_SIZE_H
#define TEQUIO_CLI_TRAIN_BATCH_SIZE_H

#include "cli/run/devices.h"
#include "cli/run/shape.h"
#include "common/base/buf.h"

enum { BATCH_TRIES = 40 };
#define BATCH_CLOSE 0.95

typedef struct batch_try {
    int64_t batch;
    double examples_per_s;          /* of a lane */
    size_t bytes;                   /* that the lane takes: memory_per_lane of --dry-run */
} batch_try;

typedef struct batch_search {
    batch_try tries[BATCH_TRIES];
    size_t n;                       /* at least 1 */
    int64_t chosen;
    int64_t step_examples;          /* of a step with that: times batches_per_step */
    char device[BACKEND_NAME];
    char end[256];                  /* why no larger ones were tried */
} batch_search;

/* Of the tries, at least one, which are in the order of their size. */
int64_t batch_size_choose(const batch_try *tries, size_t n);

/* E_NOMEM: not even one example fits. E_CONFIG: batches are as large as max_tokens_sampler makes them. */
MUST_USE status batch_size_find(const config *c, const devices *d, const shape *s, batch_search *ret, error *err);

/* The batch of the job whose dir that is; 0: there is none. */
int64_t batch_size_kept(const char *job_dir);

/* "8: 1200/s, 16: 2000/s; no faster with more" */
void batch_size_describe(const batch_search *found, buf *ret);

/* What to do about learning rates, which were chosen for some other batch. */
void batch_size_warn(const config *c, const batch_search *found);

#endif
