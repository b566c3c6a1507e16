/*
 * The deal: which lane owns which slot now, who hedges, and when either has to change. Pure; times
 * are handed in.
 *
 * Slots are dealt anew when lanes come or go, and, if asked for, when the lanes' measured pace says
 * that another deal would make steps quicker by a tenth, at most every five seconds.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LANES_DEAL_H
#define TEQUIO_MASTER_LANES_DEAL_H

#include "master/lanes/hedge.h"

#define DEAL_LOOK_US INT64_C(1000000)  /* how often the pace is looked at */
#define DEAL_EVERY_US INT64_C(5000000) /* between two deals for its sake */

typedef struct deal deal;

deal *deal_create(uint32_t n_slots, bool rebalances);
void deal_destroy(deal **d);

/* Lanes came or went. n_lanes >= 1. */
void deal_anew(deal *d, const hedge_lane *lanes, size_t n_lanes, int64_t now_us);
/* A new life of a worker: what was measured is of another. */
void deal_forget_worker(deal *d, const view_lane *worker);

/* NULL before the first deal. */
const view_lane *deal_owners(const deal *d);
const view_lane *deal_hedge(const deal *d, uint32_t slot); /* NULL: nobody computes it too */

/* `lane` computed a slot, a whole batch in `seconds`; `first`: nobody had reported it before. True:
 * a new view is due. */
bool deal_report(deal *d, const view_lane *lane, uint32_t slot, double seconds, bool first,
                 int64_t now_us);
/* A step is complete, or nobody has anything to compute yet. */
void deal_step(deal *d, int64_t now_us);
void deal_pause(deal *d, int64_t now_us);

typedef enum deal_change {
    DEAL_SAME,
    DEAL_HEDGED,     /* late slots are hedged */
    DEAL_REBALANCED, /* slots are dealt anew */
} deal_change;

/* Looked at now and then; is_in says which slots of the open step have reported. After a change a
 * new view is due. */
deal_change deal_look(deal *d, const hedge_lane *lanes, size_t n_lanes, const bool *is_in,
                      uint32_t n_slots, int64_t now_us);

#endif
