/*
 * Leases: which lane computes which batch, in the modes ssp and async. Pure.
 *
 * Batches go out in ascending order, to the lane that holds fewest; a lane holds two, one to
 * compute and one to read ahead for. A lease ends when its batch is reported, or when its lane is
 * lost: then the batch goes out anew, before any that nobody had. Nobody is waited for that cannot
 * work: a lost batch goes to a lane that is full too, for all may be waiting for just that one;
 * lanes compute the lowest they have first.
 *
 * A lease is said again, at growing intervals, until its batch is reported: no message is assumed
 * to arrive, and lanes drop what they have heard.
 *
 * The start rule goes out with the lease, as the floor that every part must have reached
 * (schedule_floor).
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_LEASES_H
#define TEQUIO_MASTER_LANES_LEASES_H

#include "common/parts/schedule.h"
#include "master/lanes/view.h"

enum { LEASES_FRESH = 2, LEASES_MAX = 8 }; /* of a lane: as a rule; with lost ones */

typedef struct leases leases;

typedef struct leases_options {
    schedule schedule;
    int64_t batches_per_step; /* K, by which its start rule counts turns */
} leases_options;

typedef struct lease {
    view_lane lane;
    int64_t batch, floor;
} lease;

leases *leases_create(const leases_options *options);
void leases_destroy(leases **l);

/* A new era: nobody holds anything, every batch not in `applied` is to be computed. */
void leases_begin(leases *l, const batch_set *applied);

/* Who lives: lanes not named lose what they hold. */
void leases_lanes(leases *l, const view_lane *lanes, size_t n);
/* A worker started anew: what its lanes held is lost. */
void leases_lost(leases *l, bool trainer, uint32_t worker);
/* A worker may not have heard: what its lanes hold is said again now. */
void leases_repeat(leases *l, bool trainer, uint32_t worker);

/* The next lease to say now, of a batch below `limit`; false: none. */
bool leases_next(leases *l, int64_t limit, int64_t now_us, lease *ret);

/* Its holder lives, but may have lost its way to a server: the lowest batch, once it is held for
 * `timeout_us` and for twice as long as the slowest of late took, is given to a lane of another
 * worker too. Parts take the copy that comes first. */
void leases_hedge(leases *l, int64_t now_us, int64_t timeout_us);

/* A batch is reported; false: it was before, or it was never to be computed. */
bool leases_report(leases *l, int64_t batch, int64_t now_us);

/* All batches below are done. */
int64_t leases_floor(const leases *l);
/* Who holds the lowest batch; false: nobody holds any. */
bool leases_lowest(const leases *l, lease *ret);

#endif
