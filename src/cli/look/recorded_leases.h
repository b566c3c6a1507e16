/*
 * Which lane has which batch, in the modes ssp and async, by the leases that tasks have noted: the master those that it
 * gave and the reports that came, and where it has written nothing the workers theirs.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_RECORDED_LEASES_H
#define TEQUIO_CLI_LOOK_RECORDED_LEASES_H

#include "cli/look/recordings.h"

typedef struct recorded_lease {
    int64_t batch;
    int task, lane;                 /* place in `tasks` of recordings; -1: not known */
    int64_t age_us;                 /* since it was first said, as far as events go back */
} recorded_lease;

/* Those that were not reported when it was written, lowest batch first; free the array. A batch that somebody else
 * computes too is there twice. */
recorded_lease *recorded_leases_find(const recordings *of, size_t *ret_n);

#endif
