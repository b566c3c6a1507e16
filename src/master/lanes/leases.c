#include "master/lanes/leases.h"

#include "common/base/alloc.h"

#include <stdlib.h>

enum { SAY_FIRST_US = 1000000, SAY_LAST_US = 8000000 };

typedef struct held {
    int64_t batch;
    int64_t given_us;            /* when it was said first */
    int64_t say_us, interval_us; /* when to say it next; 0: now, for the first time */
} held;

typedef struct holder {
    view_lane lane;
    held held[LEASES_MAX];
    size_t n;
} holder;

struct leases {
    leases_options o;
    batch_set done;
    int64_t next;  /* the lowest nobody ever had */
    int64_t *lost; /* given and lost, ascending; all below `next` */
    size_t n_lost, cap_lost;
    holder *lanes;
    size_t n_lanes;
    int64_t slowest_us; /* that a batch took of late */
};

leases *leases_create(const leases_options *options)
{
    leases *l = xcalloc(1, sizeof *l);
    l->o = *options;
    return l;
}

void leases_destroy(leases **l)
{
    if (!l || !*l)
        return;
    batch_set_fini(&(*l)->done);
    free((*l)->lost);
    free((*l)->lanes);
    free(*l);
    *l = NULL;
}

void leases_begin(leases *l, const batch_set *applied)
{
    batch_set_copy(&l->done, applied);
    l->next = applied->floor;
    l->n_lost = 0;
    for (size_t i = 0; i < l->n_lanes; i++)
        l->lanes[i].n = 0;
}

/* --- losing --- */

static void lose(leases *l, int64_t batch)
{
    GROW(l->lost, l->cap_lost, l->n_lost + 1);
    size_t at = l->n_lost++;
    for (; at > 0 && l->lost[at - 1] > batch; at--)
        l->lost[at] = l->lost[at - 1];
    l->lost[at] = batch;
}

static void lose_all(leases *l, holder *h)
{
    for (size_t i = 0; i < h->n; i++)
        lose(l, h->held[i].batch);
    h->n = 0;
}

void leases_lanes(leases *l, const view_lane *lanes, size_t n)
{
    holder *now = xcalloc(n + 1, sizeof *now);
    for (size_t i = 0; i < n; i++) {
        now[i].lane = lanes[i];
        for (size_t k = 0; k < l->n_lanes; k++)
            if (view_same_lane(&l->lanes[k].lane, &lanes[i])) {
                now[i] = l->lanes[k];
                l->lanes[k].n = 0;
            }
    }
    for (size_t k = 0; k < l->n_lanes; k++)
        lose_all(l, &l->lanes[k]);
    free(l->lanes);
    l->lanes = now;
    l->n_lanes = n;
}

void leases_lost(leases *l, bool trainer, uint32_t worker)
{
    for (size_t i = 0; i < l->n_lanes; i++)
        if (l->lanes[i].lane.trainer == trainer && l->lanes[i].lane.worker == worker)
            lose_all(l, &l->lanes[i]);
}

void leases_repeat(leases *l, bool trainer, uint32_t worker)
{
    for (size_t i = 0; i < l->n_lanes; i++) {
        holder *h = &l->lanes[i];
        if (h->lane.trainer != trainer || h->lane.worker != worker)
            continue;
        for (size_t k = 0; k < h->n; k++)
            h->held[k].say_us = 0;
    }
}

/* --- giving --- */

static int64_t floor_of(const leases *l, int64_t batch)
{
    return schedule_floor(&l->o.schedule, batch, l->o.batches_per_step);
}

static holder *least_busy(leases *l)
{
    holder *best = l->lanes;
    for (size_t i = 1; i < l->n_lanes; i++)
        if (l->lanes[i].n < best->n)
            best = &l->lanes[i];
    return best;
}

static void give(holder *h, int64_t batch)
{
    h->held[h->n++] = (held){.batch = batch};
}

/* A batch to a lane, if there is one for it. */
static bool deal(leases *l, int64_t limit)
{
    if (!l->n_lanes)
        return false;
    holder *h = least_busy(l);
    if (l->n_lost && l->lost[0] < limit && h->n < LEASES_MAX) {
        give(h, l->lost[0]);
        l->n_lost--;
        for (size_t i = 0; i < l->n_lost; i++)
            l->lost[i] = l->lost[i + 1];
        return true;
    }
    while (batch_set_has(&l->done, l->next))
        l->next++;
    if (l->next >= limit || h->n >= LEASES_FRESH || !batch_set_fits(&l->done, l->next))
        return false;
    give(h, l->next++);
    return true;
}

static bool is_due(held *h, int64_t now_us)
{
    if (now_us < h->say_us)
        return false;
    if (!h->given_us)
        h->given_us = now_us;
    h->interval_us = h->interval_us ? 2 * h->interval_us : SAY_FIRST_US;
    if (h->interval_us > SAY_LAST_US)
        h->interval_us = SAY_LAST_US;
    h->say_us = now_us + h->interval_us;
    return true;
}

bool leases_next(leases *l, int64_t limit, int64_t now_us, lease *ret)
{
    while (deal(l, limit))
        ;
    for (size_t i = 0; i < l->n_lanes; i++) {
        holder *h = &l->lanes[i];
        for (size_t k = 0; k < h->n; k++)
            if (is_due(&h->held[k], now_us)) {
                *ret = (lease){.lane = h->lane,
                               .batch = h->held[k].batch,
                               .floor = floor_of(l, h->held[k].batch)};
                return true;
            }
    }
    return false;
}

/* --- hedging --- */

static const held *leases_holds(const holder *h, int64_t batch)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->held[i].batch == batch)
            return &h->held[i];
    return NULL;
}

static bool same_worker(const view_lane *a, const view_lane *b)
{
    return a->trainer == b->trainer && a->worker == b->worker;
}

void leases_hedge(leases *l, int64_t now_us, int64_t timeout_us)
{
    lease lowest = {.batch = -1};
    if (!leases_lowest(l, &lowest))
        return;
    if (timeout_us < 2 * l->slowest_us)
        timeout_us = 2 * l->slowest_us;
    holder *other = NULL;
    size_t copies = 0;
    for (size_t i = 0; i < l->n_lanes; i++) {
        holder *h = &l->lanes[i];
        const held *one = leases_holds(h, lowest.batch);
        copies += one != NULL;
        if (one && (!one->given_us || now_us - one->given_us < timeout_us))
            return;
        if (!same_worker(&h->lane, &lowest.lane) && h->n < LEASES_MAX && (!other || h->n < other->n))
            other = h;
    }
    if (copies == 1 && other)
        give(other, lowest.batch);
}

/* --- ending --- */

/* The slowest of late: forgotten slowly. */
static void note_time(leases *l, int64_t batch, int64_t now_us)
{
    l->slowest_us -= l->slowest_us / 16;
    for (size_t i = 0; i < l->n_lanes; i++) {
        const held *one = leases_holds(&l->lanes[i], batch);
        if (one && one->given_us && now_us - one->given_us > l->slowest_us)
            l->slowest_us = now_us - one->given_us;
    }
}

/* Whoever computed it: the one who has it, or one who had it and was thought lost. */
static void leases_forget(leases *l, int64_t batch)
{
    for (size_t i = 0; i < l->n_lanes; i++) {
        holder *h = &l->lanes[i];
        for (size_t k = 0; k < h->n; k++)
            if (h->held[k].batch == batch)
                h->held[k--] = h->held[--h->n];
    }
    size_t n = 0;
    for (size_t i = 0; i < l->n_lost; i++)
        if (l->lost[i] != batch)
            l->lost[n++] = l->lost[i];
    l->n_lost = n;
}

bool leases_report(leases *l, int64_t batch, int64_t now_us)
{
    if (batch < 0 || batch >= l->next || batch_set_has(&l->done, batch))
        return false;
    note_time(l, batch, now_us);
    leases_forget(l, batch);
    return batch_set_add(&l->done, batch);
}

int64_t leases_floor(const leases *l)
{
    return l->done.floor;
}

bool leases_lowest(const leases *l, lease *ret)
{
    bool any = false;
    for (size_t i = 0; i < l->n_lanes; i++)
        for (size_t k = 0; k < l->lanes[i].n; k++)
            if (!any || l->lanes[i].held[k].batch < ret->batch) {
                any = true;
                *ret = (lease){.lane = l->lanes[i].lane,
                               .batch = l->lanes[i].held[k].batch,
                               .floor = floor_of(l, l->lanes[i].held[k].batch)};
            }
    return any;
}
