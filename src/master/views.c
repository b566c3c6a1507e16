/*
 * Views: the deal between lanes as workers hear of it, and what their reports say about the lanes.
 */
#include "master/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdio.h>
#include <stdlib.h>

static Wire__View__Owner owner_of(const view_lane *lane)
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
    size_t k = (size_t)m->steps.per_step;
    announcement a = {
        .owners = xcalloc(2 * k, sizeof *a.owners),
        .hedges = xcalloc(k, sizeof *a.hedges),
        .slots = xcalloc(k, sizeof *a.slots),
        .hedged = xcalloc(k, sizeof *a.hedged),
    };
    for (size_t i = 0; i < k; i++) {
        a.owners[i] = owner_of(&deal_owners(m->deal)[i]);
        a.slots[i] = &a.owners[i];
        const view_lane *by = deal_hedge(m->deal, (uint32_t)i);
        if (!by)
            continue;
        Wire__View__Hedge *h = &a.hedges[a.n_hedges];
        wire__view__hedge__init(h);
        a.owners[k + i] = owner_of(by);
        h->slot = (uint32_t)i;
        h->owner = &a.owners[k + i];
        a.hedged[a.n_hedges++] = h;
    }
    return a;
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
    if (!deal_owners(m->deal))
        return;
    announcement a = announce(m);
    Wire__View v = WIRE__VIEW__INIT;
    v.id = m->view_id;
    v.n_slots = (size_t)m->steps.per_step;
    v.slots = a.slots;
    v.n_hedges = a.n_hedges;
    v.hedges = a.hedged;
    /* no older step is owed; this one may be: who reported it may have died before its last push */
    v.start_step = master_applied(m);
    v.limit = m->limit;
    v.examples_per_epoch = m->steps.examples;
    v.batch_size = m->steps.batch_size;
    v.drop_last = m->steps.drop_last;
    v.acting = master_list_acting(m, &v.n_acting);
    if (only)
        master_send(m->listener, only, master_head(m, WIRE_VIEW, 0), &v.base);
    else
        master_send_workers(m, master_head(m, WIRE_VIEW, 0), &v.base);
    free(v.acting);
    announcement_fini(&a);
}

static void say_new_view(master *m)
{
    m->view_id++;
    master_send_view(m, NULL);
}

void master_deal(master *m)
{
    size_t n = 0;
    hedge_lane *lanes = members_lane_list(&m->members, &n);
    m->view_due = false;
    master_lease_lanes(m, lanes, n);
    if (n) {
        deal_anew(m->deal, lanes, n, m->view_id + 1, clock_us());
        say_new_view(m);
    }
    free(lanes);
}

void master_count_lane(master *m, const member *from, const wire_head *h, const Wire__Report *r)
{
    if (m->leases || h->node.level || r->examples <= 0 || r->lane >= from->lanes)
        return;
    view_lane lane = {.trainer = from->trainer, .worker = from->index, .lane = r->lane};
    double seconds = r->seconds * (double)m->steps.batch_size / (double)r->examples;
    deal_report(m->deal, &lane, seconds);
}

void master_take_delivered(master *m, const member *from, const wire_head *h, const Wire__Delivered *d)
{
    deal_delivery what = {.worker = {.trainer = from->trainer, .worker = from->index},
                          .step = h->step,
                          .view = d->view,
                          .turn_s = d->seconds,
                          .push_s = d->push_seconds};
    if (m->leases || !m->deal || m->phase != RUN || h->era != m->identity.era ||
        !deal_delivered(m->deal, &what, clock_us()))
        return;
    char name[TASK_NAME];
    LOG_I("IN_TIME", "task=%s step=%lld: its slots are hedged no longer", member_name(from, name),
          (long long)h->step);
    say_new_view(m);
}

/* "worker.1 worker.3": whose slots are not on the servers. */
static void say_hedges(const master *m)
{
    char late[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < m->members.n && used + TASK_NAME + 1 < sizeof late; i++) {
        const member *one = &m->members.at[i];
        char name[TASK_NAME];
        if (deal_awaits(m->deal, &(view_lane){one->trainer, one->index, 0}))
            used += (size_t)snprintf(late + used, sizeof late - used, " %s", member_name(one, name));
    }
    LOG_I("HEDGE", "step=%lld late:%s: other lanes compute their slots too",
          (long long)deal_open_step(m->deal), late);
}

/* "worker.0=5 worker.1=3": slots, as the lanes follow each other. */
static void say_deal(const master *m, const char *what, const hedge_lane *lanes, size_t n)
{
    char text[256];
    size_t used = 0;
    for (size_t i = 0; i < n && used + 2 * TASK_NAME < sizeof text; i++) {
        char name[TASK_NAME];
        task t = {lanes[i].lane.trainer ? ROLE_MASTER : ROLE_WORKER, (int32_t)lanes[i].lane.worker};
        uint32_t slots = 0;
        for (int64_t k = 0; k < m->steps.per_step; k++)
            slots += view_same_lane(&deal_owners(m->deal)[k], &lanes[i].lane);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, " %s=%u", task_name(t, name), slots);
    }
    LOG_I(what, "slots:%s", text);
}

void master_watch_lanes(master *m, int64_t now)
{
    if (m->leases)
        return;                 /* leases follow the lanes' pace by themselves */
    if (now - m->watch_us < TICK_MS * 1000)
        return;
    m->watch_us = now;
    if (deal_open_step(m->deal) >= m->limit) {
        deal_pause(m->deal, now);
        return;
    }
    size_t n = 0;
    hedge_lane *lanes = members_lane_list(&m->members, &n);
    deal_change change = deal_look(m->deal, lanes, n, m->view_id + 1, now);
    if (change == DEAL_HEDGED)
        say_hedges(m);
    if (change == DEAL_REBALANCED || change == DEAL_TRIED)
        say_deal(m, change == DEAL_TRIED ? "TRIED" : "REBALANCE", lanes, n);
    if (change != DEAL_SAME)
        say_new_view(m);
    free(lanes);
}
