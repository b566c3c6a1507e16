/*
 * The thread pool of a server, which shares its arithmetic. A call is cut into pieces, which the
 * caller and the threads that are awake take one after another; a thread that wakes up late is not
 * waited for.
 *
 * Threads: belongs to one thread, the server's.
 */
#ifndef TEQUIO_PS_THREAD_POOL_H
#define TEQUIO_PS_THREAD_POOL_H

#include "common/base/error.h"

#include <stddef.h>

typedef struct thread_pool thread_pool;

/* n >= 1 threads, the caller counted. `task` names their log lines; kept. */
MUST_USE status thread_pool_create(int n, const char *task, thread_pool **ret, error *err);
void thread_pool_destroy(thread_pool **h);

typedef void thread_pool_body(size_t piece, void *arg);

/* body(0 .. n - 1), in any order and several at once; returns when all are done. NULL: the caller
 * does them alone. */
void thread_pool_share(thread_pool *h, size_t n, thread_pool_body *body, void *arg);

#endif
