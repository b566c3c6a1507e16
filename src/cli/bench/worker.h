/*
 * A worker of `bench net`: moves every part of every group, waits for the other workers, and again,
 * until the time is over. At most BENCH_IN_FLIGHT parts are under way per server process.
 * Threads: the calling one.
 *
 *   push      done when all are acknowledged; as the workers wait for one another, every part has
 *             then been summed and applied and has its next version
 *   pull      the version there is; done when all have been copied to where a model reads them
 *   pushpull  as a step of training: each part is pushed and its next version asked for
 */
#ifndef TEQUIO_CLI_BENCH_WORKER_H
#define TEQUIO_CLI_BENCH_WORKER_H

#include "cli/bench/load.h"

/* `endpoints` are those of the load's ports. Leaves its result in page->results[index]. */
MUST_USE status bench_worker_run(const bench_load *l, int index, const char *const *endpoints,
                                 bench_page *page, error *err);

#endif
