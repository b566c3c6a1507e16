/*
 * Who owns which slots now, as the files of the deal ask.
 */
#include "master/lanes/state.h"

bool deal_lane_has_slots(const deal *d, const view_lane *lane)
{
    for (uint32_t k = 0; k < d->n_slots; k++)
        if (view_same_lane(&d->owners[k], lane))
            return true;
    return false;
}

bool deal_has_slots(const deal *d, const view_lane *worker)
{
    for (uint32_t k = 0; k < d->n_slots; k++)
        if (view_same_worker(&d->owners[k], worker))
            return true;
    return false;
}

void deal_give(deal *d, uint32_t slot, const view_lane *owner, uint32_t view)
{
    if (d->is_dealt && view_same_lane(&d->owners[slot], owner))
        return;
    d->owners[slot] = *owner;
    d->since[slot] = view;
}

hedge *deal_trial_hedge(deal *d)
{
    const trials *t = &d->trials;
    hedge *h = t->is_on && !t->now.is_own ? &d->hedges.at[t->now.slot] : NULL;
    return h && h->is_set && view_same_lane(&h->lane, &t->now.lane) ? h : NULL;
}
