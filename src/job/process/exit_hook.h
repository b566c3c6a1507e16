/*
 * A last will: a command that runs once this process has ended, however that came, or when this
 * process asks for it.
 *
 * A process in a session of its own waits for that; no signal of a terminal reaches it, and SIGTERM
 * and its kin do not end it. So what lives outside of us, such as containers, is not left behind by
 * a launcher that is killed.
 *
 * Threads: one, before any other is started.
 */
#ifndef TEQUIO_JOB_PROCESS_EXIT_HOOK_H
#define TEQUIO_JOB_PROCESS_EXIT_HOOK_H

#include "common/base/error.h"

#include <sys/types.h>

typedef struct exit_hook {
    pid_t keeper; /* 0: there is none */
    int fd;       /* while this is open nothing happens */
} exit_hook;

/* argv[0] is looked for in PATH. What the command prints is appended to the file at `log`. E_IO. */
MUST_USE status exit_hook_set(const char *const *argv, const char *log, exit_hook *ret, error *err);

/* Runs it now, to its end; its exit code. 0 where there is none. */
int exit_hook_run(exit_hook *w);

#endif
