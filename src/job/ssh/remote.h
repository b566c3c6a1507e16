/*
 * A task on a host that is reached by a remote shell: the launcher speaks to its standard input.
 *
 * The first line is JSON: what to run and with what, or which file is wanted. Each line behind it is
 * "signal N". The end of the input is the launcher's end, or the connection's: the task is killed at
 * once, so none runs that nobody knows of. What the task prints goes to the same outputs; its end is ours.
 *
 * Keys travel in that line, never among arguments, where other users of the host could read them.
 *
 * Threads: one, before any other is started.
 */
#ifndef TEQUIO_JOB_SSH_REMOTE_H
#define TEQUIO_JOB_SSH_REMOTE_H

#include "common/base/error.h"

#define REMOTE_CONFIG "{config}" /* among arguments: where the configuration will be */

typedef struct remote_task {
    const char *const *arguments;   /* without the program; NULL at the end */
    const char *config;             /* text of the configuration; NULL: none */
    char *const *environment;       /* NAME=VALUE, NULL at the end: goes over the host's own */
    const char *folder;             /* to run in, where it is there; otherwise in the home folder */
} remote_task;

/* The first line, with its end; the caller frees it. */
char *remote_line(const remote_task *t);

/* The first line that asks for a file instead of a task (process/sent_file.h); the caller frees it. */
char *remote_file_line(const char *path);

/* Plays the other side: reads standard input and runs the task. The exit code is the task's, 128 +
 * signal when a signal ended it. E_PROTOCOL for a line that is none of ours. */
int remote_serve(error *err);

#endif
