/*
 * What a task may conclude that finds no master: whether its job is over, as far as the job dir is seen
 * here. It may have been frozen, cut off or started again while the others were told the end.
 *
 * A task of the job believes what is written of that job, or of that start of its master. One that never met
 * a master believes only that a job of its own configuration is done; any other end may be followed by
 * another start.
 *
 * Threads: functions without shared state. They read the job dir, which may be slow: once a second, and
 * only in the absence of the master.
 */
#ifndef TEQUIO_COMMON_STORE_JOBEND_H
#define TEQUIO_COMMON_STORE_JOBEND_H

#include "common/config/config.h"
#include "common/store/jobdir.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct jobend_seeker {
    const char *job_dir;    /* nothing is made there */
    const config *config;
    uint64_t job_id;        /* 0: it never met a master */
    int64_t start;          /* of the master it knew last */
} jobend_seeker;

/* Whether the job dir seen here is the one with that token. */
bool jobend_sees(const char *job_dir, const char *token);

/* *ret_is_over with OK: the job is done, which is said. Otherwise what its master ended with, and why. */
MUST_USE status jobend_look(const jobend_seeker *who, bool *ret_is_over, error *err);

/* Of a job that is done: says so in state.json, and removes what writers left behind. Its master may have been
 * killed as it left, and a server that was frozen writes what it was asked for long ago. Warns where it fails.
 * True: the lock is held, and the caller's to let go. False, and nothing is touched: the job is not done,
 * another process holds the dir, or it cannot be written. */
bool jobend_complete(jobdir *d);

#endif
