/*
 * A local cluster: one master, workers, parameter servers and evaluators as processes of this
 * machine (process/supervise.h), each running this same program with its own TF_CONFIG.
 *
 * Every task gets a listening socket that the launcher opened (TEQUIO_LISTEN_FD), so no two can
 * want one port, and nobody else can take that of a task that is started again.
 *
 * Threads: as process/supervise.h says.
 */
#ifndef TEQUIO_JOB_LOCAL_H
#define TEQUIO_JOB_LOCAL_H

#include "job/process/restart.h"
#include "job/roster.h"

typedef struct local_options {
    roster_shape shape;
    roster_words words;
    const char *const *arguments;       /* of every task, without the program; NULL at the end */
    const char *const *arguments_again; /* of one that is started again; NULL: the same */
    const char *log_dir;                /* must be there */
    const char *metrics;                /* where tasks tell their figures (metrics_ports.h); NULL: nowhere */
    const char *needs;                  /* as supervise.h has it; may be NULL */
    restart_limit restarts;             /* of each task */
    bool primary_decides;               /* as process/supervise.h has it */
    int64_t limit_ms;                   /* how long it may take; 0: as long as it does */
    int64_t grace_ms;                   /* from SIGTERM to SIGKILL */
    int64_t hang_ms;                    /* as of supervise_options */
} local_options;

/* Runs it to its end; the exit code, as supervise() has it. */
int local_run(const local_options *options, error *err);

#endif
