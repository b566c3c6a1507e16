/*
 * A trial of a device: the user's model and data, a few steps of one lane: a batch is read,
 * forward, backward, weights going up and gradients coming down where the device has memory of its
 * own. Without the servers' updates, which are the same for all. Beside it what large products
 * reach there (matmul.h).
 *
 * Threads: a trial starts some; call it in a process that may be spoilt (job/process/subprocess.h).
 */
#ifndef TEQUIO_CLI_BENCH_TRIAL_H
#define TEQUIO_CLI_BENCH_TRIAL_H

#include "backend/registry.h"
#include "common/config/config.h"
#include "exec/exec.h"

typedef struct trial_result {
    backend_device device;
    double step_ms;        /* the median */
    int64_t batch;
    int64_t tokens;        /* of an example: its input_ids; 0: it has none */
    double idle;           /* the share of all steps' time that exec_busy_ms does not count; < 0: unknown */
    double flops;          /* of a step: graph_flops */
    double matmul_flops;   /* a second, of large products in the model's precision */
    size_t memory;         /* bytes that a lane takes */
    int64_t largest_batch; /* that would fit into what was free before */
} trial_result;

/* One that goes step by step; with `times_nodes` each node is timed by itself (exec_options). */
typedef struct trial trial;

MUST_USE status trial_create(const config *c, const backend_choice *on, bool times_nodes, trial **ret,
                             error *err);
void trial_destroy(trial **ret);
/* Reads a batch and computes its gradients; *ret_ms is the clock's. */
MUST_USE status trial_step(trial *t, double *ret_ms, error *err);
exec *trial_exec(const trial *t);
/* The same, but reading does not count. */
MUST_USE status trial_compute(trial *t, double *ret_ms, error *err);
float trial_loss(const trial *t);        /* of the last step */
int64_t trial_batch(const trial *t); /* examples */

enum { TRIAL_WARMUP = 2 }; /* steps in front of what counts */

/* That, `samples` times, and what comes out. */
MUST_USE status trial_run(const config *c, const backend_choice *on, int64_t samples,
                          trial_result *ret, error *err);

#endif
