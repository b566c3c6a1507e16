/*
 * The deal: which lane owns which slot now, who hedges, and when either has to change. Pure; times
 * are handed in.
 *
 * Slots are dealt anew when lanes come or go. If asked for they are also dealt as the lanes' and links'
 * measured pace has it (shares.h), at most every five seconds, when that would make steps quicker: twice as
 * quick where one step was measured, by a tenth after twenty. Where steps turn out slower than they are with
 * the deal before, that one comes back, and the next waits longer.
 *
 * What counts is when slots are on the servers, not when they are computed: a worker says so for a step
 * as a whole.
 *
 * A lane that is dealt none, because it is too slow or because others had to hedge its worker, is *tried* now
 * and then (trials.h). What it shows is what the deal goes by then; each pause until it is tried the next time
 * is twice as long.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_DEAL_H
#define TEQUIO_MASTER_LANES_DEAL_H

#include "common/parts/steps.h"
#include "master/lanes/hedge.h"

#define DEAL_LOOK_US INT64_C(1000000)    /* how often the pace is looked at */
#define DEAL_EVERY_US INT64_C(5000000)   /* between two deals for its sake */
#define DEAL_TRY_US INT64_C(2000000)     /* how long a lane is tried, and as long as some steps take */

typedef struct deal deal;

/* Steps are numbered on from `step`. */
deal *deal_create(const steps *s, int64_t step, bool rebalances);
void deal_destroy(deal **d);
/* Another era begins: steps are numbered on from `step`, and nobody has slots before the next deal. What was
 * measured of lanes and links stays. */
void deal_restart(deal *d, int64_t step);

/* Lanes came or went. n_lanes >= 1, those of a worker next to each other. `view`, here and below: the
 * number of the view that will tell of it. */
void deal_anew(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view, int64_t now_us);
/* A new life of a worker: what was measured is of another. */
void deal_forget_worker(deal *d, const view_lane *worker);

/* NULL before the first deal. */
const view_lane *deal_owners(const deal *d);
const view_lane *deal_hedge(const deal *d, uint32_t slot); /* NULL: nobody computes it too */
int64_t deal_open_step(const deal *d);
/* Somebody owns a slot of the open step that is not on the servers. */
bool deal_awaits(const deal *d, const view_lane *worker);

/* `lane` computed a slot, a whole batch in `seconds`. */
void deal_report(deal *d, const view_lane *lane, double seconds);

/* All that a worker has to do of a step, as of a view, is on the servers. That took it so long from when it
 * had the weights, and pushes were under way for so much of it. It may be said again. */
typedef struct deal_delivery {
    view_lane worker;
    int64_t step;
    uint32_t view;
    double turn_s, push_s;
} deal_delivery;

/* True: it is in time, and was hedged: a new view is due. */
bool deal_delivered(deal *d, const deal_delivery *what, int64_t now_us);

/* Nobody has anything to compute yet. */
void deal_pause(deal *d, int64_t now_us);

typedef enum deal_change {
    DEAL_SAME,
    DEAL_HEDGED,     /* late slots are hedged */
    DEAL_TRIED,      /* a lane is tried, or no longer */
    DEAL_REBALANCED, /* slots are dealt anew */
} deal_change;

/* Looked at now and then. After a change a new view is due. */
deal_change deal_look(deal *d, const hedge_lane *lanes, size_t n_lanes, uint32_t view,
                      int64_t now_us);

#endif
