/*
 * What a worker does before it can say what it trains, which may take an hour where data are read for the first time:
 * in a thread of its own, while the worker's tells the master that it reads and how far it is. So a wait for it is no
 * wait for one that is absent. What ends a job ends this too.
 *
 * Threads: belongs to the worker's thread; the work has its own.
 */
#ifndef TEQUIO_WORKER_FIRST_READING_H
#define TEQUIO_WORKER_FIRST_READING_H

#include "common/base/error.h"

typedef struct worker worker;

/* Calls work(w) and returns what it does. E_PREEMPTED, E_ABORTED: it was stopped; also where the master has said that
 * the job is over (w->ending). What refuses us is said as the master says it. */
MUST_USE status first_reading_run(worker *w, status (*work)(worker *w, error *err), error *err);

#endif
