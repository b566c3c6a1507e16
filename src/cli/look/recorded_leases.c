#include "cli/look/recorded_leases.h"

#include "common/base/alloc.h"
#include "common/wire/wire.h"

#include <stdlib.h>

/* The master says a lease again within 8 s for as long as somebody has it (master/lanes/leases.c): one that was not
 * said for longer ended by itself, as its lane was lost. */
enum { SAID_AGAIN_US = 10 * 1000000 };

typedef struct said_lease {
    int64_t batch, first_us, last_us;
    int task, lane;
} said_lease;

typedef struct said_leases {
    said_lease *at;
    size_t n, cap;
} said_leases;

/* Which events of a file tell it: the master's, or those of a worker, whose task is `holder`. */
typedef struct lease_teller {
    const recordings *of;
    const recording *r;
    bool is_master;
    int holder;
} lease_teller;

/* --- one file --- */

static task peer_of(const lease_teller *t, const recorder_event *e)
{
    task who = {.role = ROLE_COUNT};
    (void)recording_peer_of(t->r, (uint32_t)e->b, &who);
    return who;
}

static bool gives(const lease_teller *t, const recorder_event *e)
{
    return e->a == WIRE_LEASE && e->kind == (t->is_master ? EVENT_SENT : EVENT_RECEIVED);
}

/* A worker reports to servers too, and these to the master, with other numbers. */
static bool ends(const lease_teller *t, const recorder_event *e)
{
    if (e->a != WIRE_REPORT || e->kind != (t->is_master ? EVENT_RECEIVED : EVENT_SENT))
        return false;
    role other = peer_of(t, e).role;
    return t->is_master ? other == ROLE_WORKER || other == ROLE_MASTER : other == ROLE_MASTER;
}

static void note_given(said_leases *all, const lease_teller *t, const recorder_event *e)
{
    int holder = t->is_master ? recordings_find(t->of, peer_of(t, e)) : t->holder;
    int lane = (int)recorder_unpack_passing(e).node.index;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].batch == e->step && all->at[i].task == holder && all->at[i].lane == lane) {
            all->at[i].last_us = e->at_us;
            return;
        }
    GROW(all->at, all->cap, all->n + 1);
    all->at[all->n++] = (said_lease){.batch = e->step, .first_us = e->at_us, .last_us = e->at_us, .task = holder,
                                     .lane = lane};
}

static void note_end(said_leases *all, int64_t batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].batch != batch)
            all->at[kept++] = all->at[i];
    all->n = kept;
}

/* One that was given away since, and not said again, is no more its lane's. */
static bool is_held(const said_leases *all, const said_lease *one, int64_t newest_us)
{
    bool is_held = newest_us - one->last_us <= SAID_AGAIN_US;
    for (size_t i = 0; i < all->n; i++)
        is_held = is_held && !(all->at[i].batch == one->batch && all->at[i].first_us > one->last_us);
    return is_held;
}

static void add_leases(const lease_teller *t, recorded_lease **ret, size_t *ret_n)
{
    const recording *r = t->r;
    said_leases all = {NULL, 0, 0};
    int64_t newest_us = 0;
    for (uint32_t k = 0; k < r->head.n_events; k++) {
        const recorder_event *e = &r->events[k];
        newest_us = e->at_us > newest_us ? e->at_us : newest_us;
        if (gives(t, e))
            note_given(&all, t, e);
        else if (ends(t, e))
            note_end(&all, e->step);
    }
    *ret = xrealloc(*ret, (*ret_n + all.n + 1) * sizeof **ret);
    for (size_t i = 0; i < all.n; i++)
        if (is_held(&all, &all.at[i], newest_us))
            (*ret)[(*ret_n)++] = (recorded_lease){.batch = all.at[i].batch, .task = all.at[i].task,
                                                  .lane = all.at[i].lane,
                                                  .age_us = r->head.at_us - all.at[i].first_us};
    free(all.at);
}

/* --- all of them --- */

static int by_batch(const void *a, const void *b)
{
    const recorded_lease *x = a, *y = b;
    if (x->batch != y->batch)
        return (x->batch > y->batch) - (x->batch < y->batch);
    return (x->task > y->task) - (x->task < y->task);
}

recorded_lease *recorded_leases_find(const recordings *of, size_t *ret_n)
{
    recorded_lease *found = NULL;
    int master = recordings_find(of, (task){ROLE_MASTER, 0});
    const recording_file *file = master < 0 ? NULL : of->tasks[master].file;
    *ret_n = 0;
    if (file)
        add_leases(&(lease_teller){.of = of, .r = &file->r, .is_master = true}, &found, ret_n);
    for (size_t i = 0; !file && i < of->n_tasks; i++)
        if (of->tasks[i].task.role == ROLE_WORKER && of->tasks[i].file)
            add_leases(&(lease_teller){.of = of, .r = &of->tasks[i].file->r, .holder = (int)i}, &found, ret_n);
    if (*ret_n)
        qsort(found, *ret_n, sizeof *found, by_batch);
    return found;
}
