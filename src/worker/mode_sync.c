/*
 * Lanes that follow versions together: one view of the weights, and the sync driver between it and the servers.
 */
#include "worker/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdlib.h>

static kv *mode_sync_servers_of(const worker *w)
{
    return sync_driver_kv(w->sync.driver);
}

/* --- reports --- */

static status mode_sync_report(void *user, const note *n, error *err)
{
    worker *w = user;
    reports_say_fn *say = w->master.welcomed ? master_link_report : NULL;
    return reports_add(w->reports, &n->measured, say, &w->master, err);
}

/* kv's hook: the same to the server, in front of what it belongs to. */
static status mode_sync_on_measured(void *user, kv_beside *b, error *err)
{
    const worker *w = user;
    const wire_head *h = b->push;
    uint32_t first = tree_node_first(h->node), end = tree_node_end(h->node, h->slots);
    return reports_say_of(w->reports, h->step, first, end, kv_say_beside, b, err);
}

/* What a push may still go out with is kept: a version that is held was summed on all parts. */
static status mode_sync_take_recorded(worker *w, const wire_head *h, error *err)
{
    int64_t held = sync_driver_step(w->sync.driver), step = wire_reported_until(h);
    return reports_recorded(w->reports, step, step < held ? step : held, master_link_report, &w->master, err);
}

/* --- life --- */

static status mode_sync_build(worker *w, const kv_options *servers, error *err)
{
    kv_options own = *servers;
    own.hooks.measured = mode_sync_on_measured;
    return sync_driver_create(
        &(sync_driver_options){
            .flat = w->variants.flat,
            .kv = own,
            .shared = w->lanes.shared[0],
            .lanes = w->lanes.at,
            .n_lanes = w->o->n_lanes,
            .peers = w->lanes.peers,
            .store = w->store,
            .measured = mode_sync_report,
            .user = w,
        },
        &w->sync.driver, err);
}

static void mode_sync_unbuild(worker *w)
{
    sync_driver_destroy(&w->sync.driver);
}

static status mode_sync_begin(worker *w, const Wire__View *m, const steps *s, error *err)
{
    w->sync.delivered = (sync_delivered){.step = -1, .held_step = -1};
    reports_begin(w->reports, m->start_step);
    TRY(reports_say_all(w->reports, master_link_report, &w->master, err));
    return sync_driver_begin(w->sync.driver,
                             &(sync_driver_era){
                                 .identity = &w->master.identity,
                                 .acting = m->n_acting ? m->acting : NULL,
                                 .steps = *s,
                                 .step = m->start_step,
                                 .limit = m->limit,
                             },
                             err);
}

static status mode_sync_take_limit(worker *w, int64_t limit, error *err)
{
    return sync_driver_limit(w->sync.driver, limit, err);
}

static status mode_sync_take_view(worker *w, const lane_share *share, int64_t limit, error *err)
{
    TRY(sync_driver_own(w->sync.driver, share, err));
    return mode_sync_take_limit(w, limit, err);
}

static status mode_sync_serve(worker *w, error *err)
{
    bool goes_on = w->ending.outcome == OK; /* else what lanes say counts no more */
    return goes_on ? sync_driver_serve(w->sync.driver, err) : kv_serve(mode_sync_servers_of(w), err);
}

static status mode_sync_tick(worker *w, error *err)
{
    return kv_tick(mode_sync_servers_of(w), err);
}

/* --- what the master hears --- */

/* Of a step, what is on the servers: the master counts that, and not what is computed. */
static status mode_sync_say_delivered(worker *w, bool again, error *err)
{
    sync_delivered *last = &w->sync.delivered;
    int64_t step = sync_driver_delivered(w->sync.driver), held = sync_driver_step(w->sync.driver);
    bool is_new = step >= 0 && step != last->step;
    if (is_new) {
        last->step = step;
        last->turn_s = (double)(clock_us() - last->held_us) / SECOND_US;
        last->push_s = (double)(kv_pushing_us(mode_sync_servers_of(w)) - last->pushing_us) / SECOND_US;
    }
    if (held != last->held_step) { /* maybe before all was acknowledged that made it */
        last->held_step = held;
        last->held_us = clock_us();
        last->pushing_us = kv_pushing_us(mode_sync_servers_of(w));
    }
    if (step < 0 || (!is_new && last->view_id == w->view_id && !again))
        return OK;
    last->view_id = w->view_id;
    Wire__Delivered m = WIRE__DELIVERED__INIT;
    m.view = (uint32_t)w->view_id;
    m.seconds = last->turn_s;
    m.push_seconds = last->push_s;
    return master_link_say(&w->master, (wire_head){.type = WIRE_DELIVERED, .step = step}, &m.base, err);
}

static net_socket *const *mode_sync_sockets(const worker *w)
{
    return kv_sockets(mode_sync_servers_of(w));
}

static int64_t mode_sync_held(const worker *w)
{
    return sync_driver_is_whole(w->sync.driver) ? sync_driver_step(w->sync.driver) : -1;
}

static bool mode_sync_rests(const worker *w)
{
    return sync_driver_is_held_back(w->sync.driver);
}

static int64_t mode_sync_computing(const worker *w)
{
    return sync_driver_computing(w->sync.driver);
}

/* Lanes that were given the next step already only wait. */
static int64_t mode_sync_progress(const worker *w, bool *ret_busy)
{
    int64_t step = sync_driver_step(w->sync.driver), given = mode_sync_computing(w);
    *ret_busy = given >= 0 && given <= step;
    return step;
}

static void mode_sync_list_waits(const worker *w, double waited, wait_list *ret)
{
    int32_t part, missing = sync_driver_missing(w->sync.driver, &part);
    int64_t step = sync_driver_step(w->sync.driver);
    if (part < 0)
        return;
    if (sync_driver_is_held_back(w->sync.driver)) {
        wait_list_add(ret, LOG_INFO, "for=master step=%lld since=%.1fs: %s", (long long)step, waited,
                      worker_unless_silent(w, "it lets nobody go on yet, for a checkpoint, an evaluation or reports "
                                              "that it has not got"));
        wait_list_words(ret, waited, "master.0", "the master to let it go on behind step %lld", (long long)step);
        return;
    }
    char *server = worker_describe_server(w, part), name[TASK_NAME];
    wait_list_add(ret, LOG_WARN, "for=%s version=%lld parts_missing=%d first=%d since=%.1fs", server,
                  (long long)step + 1, missing, part, waited);
    worker_name_server(w, part, name);
    if (missing > 1)
        wait_list_words(ret, waited, name, "part %d of %s at version %lld, and for %d parts more", part, name,
                        (long long)step + 1, missing - 1);
    else
        wait_list_words(ret, waited, name, "part %d of %s at version %lld", part, name, (long long)step + 1);
    free(server);
}

static void mode_sync_describe(const worker *w, int32_t server, kv_link *ret)
{
    kv_describe(mode_sync_servers_of(w), server, ret);
}

const worker_mode mode_sync = {
    .build = mode_sync_build,
    .unbuild = mode_sync_unbuild,
    .begin = mode_sync_begin,
    .view = mode_sync_take_view,
    .limit = mode_sync_take_limit,
    .recorded = mode_sync_take_recorded,
    .serve = mode_sync_serve,
    .tick = mode_sync_tick,
    .say_delivered = mode_sync_say_delivered,
    .sockets = mode_sync_sockets,
    .kv = mode_sync_servers_of,
    .held = mode_sync_held,
    .computing = mode_sync_computing,
    .rests = mode_sync_rests,
    .progress = mode_sync_progress,
    .list_waits = mode_sync_list_waits,
    .describe = mode_sync_describe,
};
