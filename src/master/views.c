/*
 * Views: the deal between lanes as workers hear of it.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/live/recorder.h"

#include <stdlib.h>

static Wire__View__Owner master_owner_of(const view_lane *lane)
{
    Wire__View__Owner o = WIRE__VIEW__OWNER__INIT;
    o.worker = lane->worker;
    o.lane = lane->lane;
    o.trainer = lane->trainer;
    return o;
}

typedef struct announcement {
    Wire__View__Owner *owners; /* [K] of slots, then [K] who hedge them */
    Wire__View__Hedge *hedges;
    Wire__View__Owner **slots; /* what the message points to */
    Wire__View__Hedge **hedged;
    size_t n_hedges;
} announcement;

static announcement announce(const master *m)
{
    size_t k = (size_t)m->plan.steps.per_step;
    announcement a = {
        .owners = xcalloc(2 * k, sizeof *a.owners),
        .hedges = xcalloc(k, sizeof *a.hedges),
        .slots = xcalloc(k, sizeof *a.slots),
        .hedged = xcalloc(k, sizeof *a.hedged),
    };
    for (size_t i = 0; i < k; i++) {
        a.owners[i] = master_owner_of(&deal_owners(m->views.deal)[i]);
        a.slots[i] = &a.owners[i];
        const view_lane *by = deal_hedge(m->views.deal, (uint32_t)i);
        if (!by)
            continue;
        Wire__View__Hedge *h = &a.hedges[a.n_hedges];
        wire__view__hedge__init(h);
        a.owners[k + i] = master_owner_of(by);
        h->slot = (uint32_t)i;
        h->owner = &a.owners[k + i];
        a.hedged[a.n_hedges++] = h;
    }
    return a;
}

static void note_owner(recorder_kind kind, uint32_t slot, const Wire__View__Owner *o)
{
    int32_t worker = o->trainer ? -1 : (int32_t)o->worker;
    RECORDER_NOTE(.kind = kind, .lane = -1, .step = -1, .a = (int32_t)slot, .b = worker, .c = o->lane,
                  .at_us = clock_us());
}

static void note_owners(const master *m, const announcement *a)
{
    for (int64_t i = 0; i < m->plan.steps.per_step; i++)
        note_owner(EVENT_OWNER, (uint32_t)i, a->slots[i]);
    for (size_t i = 0; i < a->n_hedges; i++)
        note_owner(EVENT_HEDGE, a->hedged[i]->slot, a->hedged[i]->owner);
}

static void announcement_fini(announcement *a)
{
    free(a->hedged);
    free(a->slots);
    free(a->hedges);
    free(a->owners);
}

void master_send_view(master *m, const net_peer *only)
{
    if (!deal_owners(m->views.deal))
        return;
    announcement a = announce(m);
    note_owners(m, &a);
    Wire__View v = WIRE__VIEW__INIT;
    v.id = m->views.id;
    v.n_slots = (size_t)m->plan.steps.per_step;
    v.slots = a.slots;
    v.n_hedges = a.n_hedges;
    v.hedges = a.hedged;
    /* no older step is owed; this one may be: who reported it may have died before its last push */
    v.start_step = master_applied(m);
    v.limit = m->views.limit;
    v.examples_per_epoch = m->plan.steps.examples;
    v.batch_size = m->plan.steps.batch_size;
    v.drop_last = m->plan.steps.drop_last;
    v.acting = master_list_acting(m, &v.n_acting);
    if (only)
        master_send(m->listener, only, master_head(m, WIRE_VIEW), &v.base);
    else
        master_send_workers(m, master_head(m, WIRE_VIEW), &v.base);
    free(v.acting);
    announcement_fini(&a);
}

void master_say_new_view(master *m)
{
    m->views.id++;
    master_send_view(m, NULL);
}

void master_deal(master *m)
{
    size_t n = 0;
    hedge_lane *lanes = members_lane_list(&m->members, &n);
    m->views.is_due = false;
    if (m->plan.scheduler->lanes)
        m->plan.scheduler->lanes(m, lanes, n);
    if (n) {
        deal_anew(m->views.deal, lanes, n, m->views.id + 1, clock_us());
        master_say_new_view(m);
    }
    free(lanes);
}
