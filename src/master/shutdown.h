/*
 * How the job ends, as far as that is decided, and how everybody hears of it.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_SHUTDOWN_H
#define TEQUIO_MASTER_SHUTDOWN_H

#include "common/base/error.h"

typedef struct master master;

typedef struct job_ending {
    bool preempted;                 /* somebody is asked to leave */
    int64_t preempt_us;             /* since then */
    bool finished;                  /* all results are there */
    bool is_over_before;            /* the job was done when we started: only to say so */
    bool superseded;                /* a newer master leads the job: nobody stops because of us */
    status failed;                  /* the first failure of a task */
    error failure;
} job_ending;

/* Says how it ended to all, until they have left or for SHUTDOWN_US. */
void master_shut_down(master *m, status st, const char *text);

#endif
