/*
 * What `tequio submit` was asked for: the job, where it is to run, and what its tasks are told.
 * Ownership: everything lives in the order's arena. Main thread only.
 */
#ifndef TEQUIO_CLI_SUBMIT_ORDER_H
#define TEQUIO_CLI_SUBMIT_ORDER_H

#include "cli/line/command.h"
#include "common/config/config.h"
#include "job/spec/job.h"

typedef struct order {
    arena *memory;
    job job;
    const char *target;                 /* "local" */
    const char *primary;                /* what TF_CONFIG calls the master */
    const char *const *arguments;       /* of every task: "train", CONFIG, ..., "--job-dir", DIR */
    const char *const *arguments_again; /* of one that is started again */
    config *resolved;                   /* what CONFIG and the overrides among the arguments come to */
    bool is_secured;                    /* its connections between hosts are */
} order;

/* The same line without the overrides, and with `path` in the place of CONFIG. In the arena. */
const char *const *order_arguments_of(const order *o, const char *path, bool again);

/* E_USAGE, E_CONFIG; says the job's warnings on standard error. */
MUST_USE status order_read(const args *a, order *ret, error *err);
void order_fini(order *o);

#endif
