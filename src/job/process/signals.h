/*
 * Signals that a launcher reads from a descriptor, between other things, instead of being
 * interrupted by them. Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_PROCESS_SIGNALS_H
#define TEQUIO_JOB_PROCESS_SIGNALS_H

#include "common/base/error.h"

#include <signal.h>
#include <stdbool.h>

typedef struct signals {
    int fd;            /* to poll; -1: not open */
    sigset_t old_mask;
} signals;

#define SIGNALS_INIT {.fd = -1}

/* Those that ask for an end, SIGINT, SIGTERM and SIGHUP, and with `children` SIGCHLD, and SIGUSR1, which is for them.
 * E_IO. */
MUST_USE status signals_open(bool children, signals *ret, error *err);
void signals_close(signals *s);

/* The next one that has come, without waiting. */
bool signals_next(const signals *s, int *ret);

#endif
