/*
 * When a task that died is started again, and how often: at once the first time, then after pauses
 * that double, so that what dies at its start does not turn in circles. What was alive for long is
 * forgiven the starts before, as Kubernetes does it: a death a week ends no job. Pure functions.
 */
#ifndef TEQUIO_JOB_PROCESS_RESTART_H
#define TEQUIO_JOB_PROCESS_RESTART_H

#include "common/config/config.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct restart_limit {
    int most;           /* how often a task is started again */
    double forgiven_s;  /* after a life so long they are counted anew */
} restart_limit;

typedef struct restart {
    int n;              /* how often it was, or will be, started again, in all */
    int counted;        /* those that are not forgiven */
    int64_t began_us;   /* its last start */
    int64_t due_us;     /* when it starts again; INT64_MAX: that is not planned */
} restart;

#define RESTART_INIT                                                                               \
    {                                                                                              \
        .due_us = INT64_MAX                                                                        \
    }

/* distributed.max_restarts and distributed.restarts_forgiven. */
restart_limit restart_limit_of(const config *c);

/* Codes from 128 (signals among them) may pass, lower ones come back: as Kubeflow reads them. One
 * that left because it was asked to is not started again either. */
bool restart_may_help(int exit_code);

/* Plans the next start of what died now, unless its limit is reached; *ret_pause_us is how long
 * until then. */
bool restart_plan(restart *r, const restart_limit *limit, int64_t now_us, int64_t *ret_pause_us);

/* It starts now, for the first time or again. */
void restart_began(restart *r, int64_t now_us);

/* No start is planned any more. */
void restart_cancel(restart *r);

#endif
