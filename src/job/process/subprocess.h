/*
 * A piece of work in a process of its own: what it takes, leaves behind or breaks is that
 * process's. Threads: one; call it before any other is started.
 */
#ifndef TEQUIO_JOB_PROCESS_SUBPROCESS_H
#define TEQUIO_JOB_PROCESS_SUBPROCESS_H

#include "common/base/error.h"

/* What `work` returns, with its error. What it writes into `ret`, which is `bytes` of memory and
 * may be NULL, comes back unless the process died: that is E_FAIL with how. */
MUST_USE status subprocess_run(status (*work)(void *user, error *err), void *user, void *ret,
                          size_t bytes, error *err);

#endif
