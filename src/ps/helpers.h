/*
 * Helpers: threads that share a server's arithmetic with it. A call is cut into pieces, which the
 * caller and whoever of the helpers is awake take one after another; a helper that wakes up late is
 * not waited for.
 *
 * Threads: belongs to one thread, the server's.
 */
#ifndef TEQUIO_PS_HELPERS_H
#define TEQUIO_PS_HELPERS_H

#include "common/base/error.h"

#include <stddef.h>

typedef struct helpers helpers;

/* n >= 1 threads, the caller counted. `task` names their log lines; kept. */
MUST_USE status helpers_create(int n, const char *task, helpers **ret, error *err);
void helpers_destroy(helpers **h);

typedef void helpers_body(size_t piece, void *arg);

/* body(0 .. n - 1), in any order and several at once; returns when all are done. NULL: the caller
 * does them alone. */
void helpers_share(helpers *h, size_t n, helpers_body *body, void *arg);

#endif
