#include "master/lanes/state.h"

#include <math.h>

/* Of what it owns. Where it computes others' slots too its turn was longer than its own explain. */
static void measure_own_turn(deal *d, const view_lane *worker, double turn_s)
{
    if (!hedges_any_by(&d->hedges, worker))
        deal_measure_turn(d, d->owners, worker, turn_s);
}

void deal_report(deal *d, const view_lane *lane, double seconds)
{
    trials *t = &d->trials;
    pace_report(d->pace, lane, seconds);
    if (t->is_on && t->now.is_own && view_same_lane(&t->now.lane, lane))
        trials_report(t, seconds);
}

/* --- what is brought --- */

static double open_seconds(const deal *d, int64_t now_us)
{
    return (double)(now_us - d->open.since_us) * 1e-6;
}

/* Whose slots others brought, in the step that is over. */
static void note_late(deal *d, int64_t now_us)
{
    trials *t = &d->trials;
    for (uint32_t k = 0; k < d->open.n_slots; k++) {
        bool is_tried = t->is_on && k == t->now.slot;
        if (hedges_of(&d->hedges, k) && !is_tried)
            trials_late(t, &d->owners[k], d->open.step, now_us);
    }
    if (t->is_on && !t->now.is_own && t->good_step != d->open.step)
        t->n_good = 0;
}

/* The worker brought what it owns, or hedges, of the open step. *ret_own: some of it is its own, and was
 * not there; *ret_was_first: others had brought less than half of that. */
static void bring(deal *d, const deal_delivery *what, bool *ret_own, bool *ret_was_first)
{
    uint32_t n_own = 0, n_by_others = 0;
    *ret_own = false;
    for (uint32_t k = 0; k < d->open.n_slots; k++) {
        const hedge *h = &d->hedges.at[k];
        bool owns = view_same_worker(&d->owners[k], &what->worker) && what->view >= d->since[k];
        bool brings = h->is_set && view_same_worker(&h->lane, &what->worker) && what->view >= h->view &&
                      h != deal_trial_hedge(d);
        n_own += owns;
        n_by_others += owns && d->open.is_in[k];
        if (d->open.is_in[k] || (!owns && !brings))
            continue;
        *ret_own |= owns;
        trials_in_time(&d->trials, &what->worker, d->open.step);
        open_step_take(&d->open, k, what->turn_s);
    }
    *ret_was_first = 2 * n_by_others < n_own;
}

/* True: it was hedged. */
static bool in_time(deal *d, const view_lane *worker)
{
    hedge *tried = deal_trial_hedge(d), kept = tried ? *tried : (hedge){.is_set = false};
    if (tried)
        tried->is_set = false;
    bool was_hedged = hedges_in_time(&d->hedges, d->owners, worker);
    if (tried)
        *tried = kept;
    return was_hedged;
}

/* The open step is over. A lane that has not said so has brought its slots by now, unless others have. */
static void end_step(deal *d, int64_t now_us)
{
    const open_step *o = &d->open;
    for (uint32_t k = 0; d->rebalances && open_step_measures(o) && k < o->n_slots; k++) {
        bool is_first = k == 0 || !view_same_worker(&d->owners[k], &d->owners[k - 1]);
        if (!o->is_in[k] && is_first && !hedges_of(&d->hedges, k))
            measure_own_turn(d, &d->owners[k], open_seconds(d, now_us));
    }
    note_late(d, now_us);
    open_step_next(&d->open, now_us);
    hedges_step(&d->hedges, now_us);
}

/* A worker that is at a step had all that the steps before made. */
static void catch_up(deal *d, int64_t step, int64_t now_us)
{
    if (step == d->open.step + 1) {
        end_step(d, now_us);
    } else if (step > d->open.step) {
        open_step_begin(&d->open, step, false, now_us);
        hedges_step(&d->hedges, now_us);
    }
}

bool deal_delivered(deal *d, const deal_delivery *what, int64_t now_us)
{
    if (!d->is_dealt)
        return false;
    catch_up(d, what->step, now_us);
    if (d->rebalances && what->step + 1 >= d->open.step)
        deal_measure_push(d, d->owners, what);
    if (what->step < d->open.step)
        return false;
    bool own, was_first;
    bring(d, what, &own, &was_first);
    double open_s = open_seconds(d, now_us);
    if (d->rebalances && own && was_first && open_step_measures(&d->open))
        measure_own_turn(d, &what->worker, fmax(open_s, what->turn_s));
    bool changed = own && was_first && in_time(d, &what->worker);
    changed |= deal_trial_is_good(d, what, open_s, now_us);
    if (d->open.n_in == d->open.n_slots)
        end_step(d, now_us);
    return changed;
}

void deal_pause(deal *d, int64_t now_us)
{
    open_step_pause(&d->open, now_us);
    hedges_step(&d->hedges, now_us);
}
