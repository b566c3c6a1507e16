/*
 * When a task that died is started again, and how often: at once the first time, then after pauses
 * that double, so that what dies at its start does not turn in circles. Pure functions.
 */
#ifndef TEQUIO_JOB_PROCESS_RESTART_H
#define TEQUIO_JOB_PROCESS_RESTART_H

#include <stdbool.h>
#include <stdint.h>

typedef struct restart {
    int n;          /* how often it was, or will be, started again */
    int64_t due_us; /* when it starts again; INT64_MAX: that is not planned */
} restart;

#define RESTART_INIT                                                                               \
    {                                                                                              \
        .n = 0, .due_us = INT64_MAX                                                                \
    }

/* Codes from 128 (signals among them) may pass, lower ones come back: as Kubeflow reads them. One
 * that left because it was asked to is not started again either. */
bool restart_may_help(int exit_code);

/* Plans the next start unless there were `limit`; *ret_pause_us is how long until then. */
bool restart_plan(restart *r, int limit, int64_t now_us, int64_t *ret_pause_us);

/* No start is planned any more. */
void restart_cancel(restart *r);

#endif
