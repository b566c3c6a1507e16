/*
 * A job's tasks as children of this process, whatever they are started by: kept running, listened
 * to, stopped together.
 *
 * What a task prints goes, as it came, into LOG_DIR/<role>.<index>.log and, with "[worker 1] " in
 * front, to standard error; only the master's results (its standard output) and its progress are
 * passed on as they are.
 *
 * A task that another one says to hang ("HUNG task=ps.1") is killed, and so started again; so is one that
 * has not left a few seconds after a master that gave up for want of a peer (200); so is a master that does
 * nothing while all others have left, who cannot say that it hangs.
 *
 * A task that dies by a signal, or with a code from 128 on, is started again, within limits
 * (restart.h): at once, later after growing pauses, and where the master told it to leave (200) when that has
 * left. One that was asked to leave (143) is not: the master
 * ends the others then, and a few seconds later all are asked who still run, in case it does not
 * know.
 *
 * Where what tasks need has been moved away, those that died wait until it is back. When nobody runs any
 * more the job ends with 202.
 *
 * The first task that fails otherwise decides: the others are stopped (SIGTERM, SIGKILL after the
 * grace time, which is short without a master) and its name, end and last lines are the error. When
 * the master has ended with 0 the job is done, whatever becomes of the others: those that stay are
 * stopped after a few seconds. SIGINT or SIGTERM to the launcher asks the master for a checkpoint
 * and an end of all (exit code 143); a second one kills. At the time limit the launcher asks
 * likewise, and the error is that it was reached. No task outlives the launcher: each dies with it,
 * even when it is killed by SIGKILL.
 *
 * Threads: one, which waits in poll(2) only. Call it before any thread is started.
 */
#ifndef TEQUIO_JOB_PROCESS_SUPERVISE_H
#define TEQUIO_JOB_PROCESS_SUPERVISE_H

#include "job/process/child.h"
#include "job/process/restart.h"

#include <stdint.h>

typedef struct supervise_options {
    int n;                       /* tasks, the master first */
    /* Fills in how life `life`, counted from 1, of task i is started; what `ret` points to stays
     * until the next call. */
    status (*start)(void *user, int i, int life, child_start *ret, error *err);
    void *user;
    restart_limit restarts;      /* of each task */
    bool primary_decides;        /* nobody's failure counts but the master's, whose code is the job's */
    const char *log_dir;         /* must be there */
    const char *needs;           /* a file or folder that was there: while it is not, nobody is started
                                  * again; NULL: none */
    int64_t limit_ms;            /* how long all may take; 0: as long as they do */
    int64_t grace_ms;            /* from SIGTERM to SIGKILL */
    int64_t hang_ms;             /* how long a master that all others have left may do nothing; 0: for ever */
} supervise_options;

/* Runs them to their end. Returns the exit code: 0 when the master ended with 0, otherwise that of
 * the first task that failed, with its story in `err`; 143 after a stop that was asked for, of us
 * (E_PREEMPTED) or of a task (E_ABORTED). */
int supervise(const supervise_options *options, error *err);

#endif
