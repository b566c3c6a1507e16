/*
 * A loop whose rounds are independent, on several threads that end with it; their log lines are the calling
 * thread's, and they read for what it reads for (read_progress.h): each round is progress. Threads: any number of
 * such loops at a time.
 */
#ifndef TEQUIO_DATA_INDEX_PARALLEL_H
#define TEQUIO_DATA_INDEX_PARALLEL_H

#include "common/base/error.h"

#include <stddef.h>

/* Calls round(user, i) for i = 0 .. n-1, on at most `threads` threads (0: as many as there are
 * processors); one that cannot be started leaves its rounds to the others. Rounds are begun in order. What
 * fails is the failure of the lowest i, however threads are scheduled; rounds behind a failed one may be
 * left out. E_ABORTED: reading is stopped. */
MUST_USE status parallel_for(size_t n, int threads, status (*round)(void *user, size_t i, error *err),
                             void *user, error *err);

#endif
