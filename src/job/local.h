/*
 * A local cluster: one master, workers, parameter servers and evaluators as processes of this
 * machine, each running this same program with its own TF_CONFIG.
 *
 * Every task gets a listening socket that the launcher opened (TEQUIO_LISTEN_FD), so no two can
 * want one port. What a task prints goes, as it came, into LOG_DIR/<role>.<index>.log and, with
 * "[worker 1] " in front, to standard error; only the master's results (its standard output) and
 * its progress are passed on as they are.
 *
 * A task that dies by a signal, or with a code from 128 on, is started again, up to max_restarts
 * times: at once, later after growing pauses. The launcher keeps the listening sockets, so nobody
 * can take its port meanwhile. One that was asked to leave (143) is not started again.
 *
 * The first task that fails otherwise decides: the others are stopped (SIGTERM, SIGKILL after the
 * grace time) and its name, end and last lines are the error. When the master has ended with 0 the
 * job is done, whatever becomes of the others: those that stay are stopped after a few seconds.
 * SIGINT or SIGTERM to the launcher asks the master for a checkpoint and an end of all (exit code
 * 143); a second one kills. No task outlives the launcher: each dies with it, even when it is killed
 * by SIGKILL.
 *
 * Threads: one, which waits in poll(2) only. Call it before any thread is started.
 */
#ifndef TEQUIO_JOB_LOCAL_H
#define TEQUIO_JOB_LOCAL_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct local_options {
    int workers, ps, evaluators;  /* beside the master */
    int start_port;               /* of the master, the others follow; 0: the kernel chooses */
    const char *const *arguments; /* of every task, without the program; NULL at the end */
    const char *const *arguments_again; /* of one that is started again; NULL: the same */
    int max_restarts;                   /* of each task */
    const char *settings;         /* TEQUIO_SET of the tasks, in place of the launcher's own */
    const char *key_file;         /* TEQUIO_KEY_FILE of the tasks; NULL: as it is */
    const char *fault;            /* TEQUIO_FAULT of the tasks; NULL: as it is */
    const char *log_dir;          /* must be there */
    int threads;                  /* OMP_NUM_THREADS of the tasks; 0: leave it as it is */
    int64_t grace_ms;             /* from SIGTERM to SIGKILL */
} local_options;

/* Runs it to its end. Returns the exit code: 0 when the master ended with 0, otherwise that of the
 * first task that failed, with its story in `err`; 143 after a stop that was asked for. */
int local_run(const local_options *options, error *err);

#endif
