#include "master/lanes/state.h"

#include "common/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps that a trial takes, and in how many in a row the slot has to be there in time; trials of a worker take
 * one part in so many of the time; steps whose length has to be known. */
enum { TRIED_STEPS = 8, TRIED_GOOD = 4, TRIED_PART = 5, TRIED_AFTER = 5 };

bool deal_trial_is_good(deal *d, const deal_delivery *what, double open_s, int64_t now_us)
{
    hedge *h = deal_trial_hedge(d);
    if (!h || !view_same_worker(&h->lane, &what->worker) || what->view < h->view)
        return false;
    view_lane *owners = xcalloc(d->n_slots, sizeof *owners);
    memcpy(owners, d->owners, d->n_slots * sizeof *owners);
    owners[d->trials.now.slot] = h->lane;
    deal_measure_push(d, owners, what);
    deal_measure_turn(d, owners, &what->worker, fmax(open_s, what->turn_s));
    free(owners);
    if (open_s > d->trials.now.limit_s || trials_good(&d->trials, d->open.step) < TRIED_GOOD)
        return false;
    h->is_set = false;
    trials_pass(&d->trials, now_us);
    return true;
}

/* The last slot of the worker that has most, and is not hedged. False: there is none. */
static bool slot_to_try(const deal *d, const view_lane *worker, uint32_t *ret)
{
    bool any = false;
    for (uint32_t k = 0; k < d->n_slots; k++)
        if (view_same_worker(&d->owners[k], worker) && !hedges_of(&d->hedges, k)) {
            *ret = k;
            any = true;
        }
    return any;
}

static const view_lane *most_laden(const deal *d, const model *m)
{
    uint32_t most = 0;
    const view_lane *ret = NULL;
    for (size_t i = 0; i < m->n; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < d->n_slots; k++)
            n += view_same_worker(&d->owners[k], &m->workers[i].name);
        if (n <= most)
            continue;
        most = n;
        ret = &m->workers[i].name;
    }
    return ret;
}

static int64_t trial_us(const deal *d)
{
    int64_t steps_us = (int64_t)(TRIED_STEPS * 1e6 * recent_median(&d->open.times_s));
    return steps_us > DEAL_TRY_US ? steps_us : DEAL_TRY_US;
}

/* Of those without slots the quickest as far as is known; the next one each time, for others may be quicker
 * by now. False: all have slots. */
static bool lane_to_try(const deal *d, const share_worker *w, view_lane *ret)
{
    view_lane lane = w->name;
    uint32_t n_idle = 0, first = 0;
    for (lane.lane = 0; lane.lane < w->n_lanes; lane.lane++)
        if (!deal_lane_has_slots(d, &lane) && (!n_idle++ || w->slot_s[lane.lane] < w->slot_s[first]))
            first = lane.lane;
    if (!n_idle)
        return false;
    lane.lane = first;
    for (uint32_t skip = trials_count(&d->trials, &w->name) % n_idle; skip; skip--)
        do
            lane.lane = (lane.lane + 1) % w->n_lanes;
        while (deal_lane_has_slots(d, &lane));
    *ret = lane;
    return true;
}

/* A worker without slots computes another's too; a lane of a worker that has slots gets one of these. */
static bool try_worker(deal *d, const model *m, const share_worker *w, uint32_t view, int64_t now_us)
{
    trial t = {.is_own = deal_has_slots(d, &w->name),
               .limit_s = recent_median(&d->open.times_s),
               .begin_us = now_us,
               .until_us = now_us + trial_us(d)};
    const view_lane *of = t.is_own ? &w->name : most_laden(d, m);
    if ((t.is_own && now_us < d->trials.own_us) || !lane_to_try(d, w, &t.lane) ||
        !trials_is_due(&d->trials, &w->name, TRIED_PART * trial_us(d), now_us) ||
        !slot_to_try(d, of, &t.slot))
        return false;
    t.former = d->owners[t.slot];
    t.known_s = w->slot_s[t.lane.lane];
    trials_begin(&d->trials, &t);
    if (t.is_own)
        deal_give(d, t.slot, &t.lane, view);
    else
        d->hedges.at[t.slot] = (hedge){true, t.lane, view, now_us};
    d->open.is_clean &= !t.is_own;
    return true;
}

bool deal_begin_trial(deal *d, const model *m, uint32_t view, int64_t now_us)
{
    for (size_t i = 0; d->open.times_s.n >= TRIED_AFTER && i < m->n; i++)
        if (try_worker(d, m, &m->workers[i], view, now_us))
            return true;
    return false;
}

bool deal_end_trial(deal *d, uint32_t view, int64_t now_us)
{
    trials *t = &d->trials;
    if (!t->is_on || now_us < t->now.until_us)
        return false;
    hedge *h = deal_trial_hedge(d);
    if (h)
        h->is_set = false;
    if (t->now.is_own) {
        deal_give(d, t->now.slot, &t->now.former, view);
        d->open.is_clean = false;
    }
    trials_fail(t, now_us);
    return true;
}
