#include "master/lanes/deal.h"

#include "common/base/alloc.h"
#include "master/lanes/pace.h"

#include <stdlib.h>
#include <string.h>

static const double gain = 1.1; /* by which a deal must be quicker to be worth a change */

struct deal {
    uint32_t n_slots;
    bool rebalances, is_dealt;
    view_lane *owners; /* [n_slots] */
    hedges *hedges;
    pace *pace;
    int64_t next_us; /* when to look at the pace again */
};

deal *deal_create(uint32_t n_slots, bool rebalances)
{
    deal *d = xcalloc(1, sizeof *d);
    d->n_slots = n_slots;
    d->rebalances = rebalances;
    d->owners = xcalloc(n_slots, sizeof *d->owners);
    d->hedges = hedges_create(n_slots);
    d->pace = pace_create();
    return d;
}

void deal_destroy(deal **d)
{
    if (!d || !*d)
        return;
    pace_destroy(&(*d)->pace);
    hedges_destroy(&(*d)->hedges);
    free((*d)->owners);
    free(*d);
    *d = NULL;
}

static view_lane *names_of(const hedge_lane *lanes, size_t n)
{
    view_lane *names = xcalloc(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = lanes[i].lane;
    return names;
}

/* Seconds of a slot by lane, NULL where nothing is measured or nobody asks. */
static double *pace_by_lane(const deal *d, const view_lane *names, size_t n, int64_t now_us)
{
    double *slot_s = xcalloc(n + 1, sizeof *slot_s);
    if (d->rebalances && pace_of(d->pace, names, n, now_us, slot_s))
        return slot_s;
    free(slot_s);
    return NULL;
}

static void take_owners(deal *d, const view_lane *owners, int64_t next_us)
{
    memcpy(d->owners, owners, d->n_slots * sizeof *owners);
    hedges_clear(d->hedges);
    d->is_dealt = true;
    d->next_us = next_us;
}

void deal_anew(deal *d, const hedge_lane *lanes, size_t n_lanes, int64_t now_us)
{
    view_lane *names = names_of(lanes, n_lanes), *owners = xcalloc(d->n_slots, sizeof *owners);
    double *slot_s = pace_by_lane(d, names, n_lanes, now_us);
    view_deal(names, slot_s, n_lanes, d->n_slots, owners);
    if (!d->is_dealt)
        hedges_resume(d->hedges, now_us);
    take_owners(d, owners, now_us + DEAL_LOOK_US);
    free(slot_s);
    free(owners);
    free(names);
}

void deal_forget_worker(deal *d, const view_lane *worker)
{
    pace_forget_worker(d->pace, worker);
}

const view_lane *deal_owners(const deal *d)
{
    return d->is_dealt ? d->owners : NULL;
}

const view_lane *deal_hedge(const deal *d, uint32_t slot)
{
    return hedges_of(d->hedges, slot);
}

bool deal_report(deal *d, const view_lane *lane, uint32_t slot, double seconds, bool first,
                 int64_t now_us)
{
    pace_report(d->pace, lane, seconds, now_us);
    bool in_time = first && slot < d->n_slots && view_same_lane(&d->owners[slot], lane);
    return in_time && hedges_in_time(d->hedges, d->owners, lane);
}

void deal_step(deal *d, int64_t now_us)
{
    hedges_step(d->hedges, now_us);
}

void deal_pause(deal *d, int64_t now_us)
{
    hedges_resume(d->hedges, now_us);
}

static bool rebalance(deal *d, const view_lane *names, size_t n_lanes, int64_t now_us)
{
    double *slot_s = pace_by_lane(d, names, n_lanes, now_us);
    if (!slot_s)
        return false;
    view_lane *owners = xcalloc(d->n_slots, sizeof *owners);
    view_deal(names, slot_s, n_lanes, d->n_slots, owners);
    bool pays = view_seconds(names, slot_s, n_lanes, d->owners, d->n_slots) >
                gain * view_seconds(names, slot_s, n_lanes, owners, d->n_slots);
    if (pays)
        take_owners(d, owners, now_us + DEAL_EVERY_US);
    free(owners);
    free(slot_s);
    return pays;
}

deal_change deal_look(deal *d, const hedge_lane *lanes, size_t n_lanes, const bool *is_in,
                      uint32_t n_slots, int64_t now_us)
{
    if (!d->is_dealt || !n_lanes)
        return DEAL_SAME;
    hedge_scene scene = {d->owners, is_in, n_slots, lanes, n_lanes};
    deal_change change = hedges_look(d->hedges, &scene, now_us) ? DEAL_HEDGED : DEAL_SAME;
    if (now_us < d->next_us)
        return change;
    d->next_us = now_us + DEAL_LOOK_US;
    view_lane *names = names_of(lanes, n_lanes);
    if (rebalance(d, names, n_lanes, now_us))
        change = DEAL_REBALANCED;
    free(names);
    return change;
}
