/*
 * Lanes that follow versions together: one view of the weights, one kv, and the sync driver between them.
 */
#include "worker/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdlib.h>

/* --- from the servers: kv's hooks. A failure is kept and leaves the loop --- */

static void on_part(void *user, const kv_part *p)
{
    worker *w = user;
    if (w->outcome == OK)
        w->outcome = sync_driver_part(w->sync_driver, p, w->err);
}

static void on_gone(void *user, int32_t part, int64_t newest)
{
    worker *w = user;
    (void)part;
    if (w->outcome == OK)
        w->outcome = sync_driver_gone(w->sync_driver, newest, w->err);
}

/* --- reports --- */

static status report(void *user, const note *n, error *err)
{
    worker *w = user;
    return reports_add(w->reports, &n->measured, w->welcomed ? worker_say_report : NULL, w, err);
}

/* kv's hook: the same to the server, in front of what it belongs to. */
static status on_measured(void *user, kv_beside *b, error *err)
{
    const worker *w = user;
    const wire_head *h = b->push;
    uint32_t first = tree_node_first(h->node), end = tree_node_end(h->node, h->slots);
    return reports_say_of(w->reports, h->step, first, end, kv_say_beside, b, err);
}

/* What a push may still go out with is kept: a version that is held was summed on all parts. */
static status take_recorded(worker *w, const wire_head *h, error *err)
{
    int64_t held = sync_driver_step(w->sync_driver), step = wire_reported_until(h);
    return reports_recorded(w->reports, step, step < held ? step : held, worker_say_report, w, err);
}

/* --- life --- */

static status build(worker *w, const kv_options *servers, error *err)
{
    kv_options one = *servers;
    one.hooks.part = on_part;
    one.hooks.gone = on_gone;
    one.hooks.measured = on_measured;
    TRY(kv_create(&one, &w->kv, err));
    w->sync_driver = sync_driver_create(&(sync_driver_options){
        .flat = w->variants.flat,
        .kv = w->kv,
        .shared = w->shared[0],
        .lanes = w->lanes,
        .n_lanes = w->o->n_lanes,
        .peers = w->peers,
        .store = worker_store(w),
    });
    return OK;
}

static status begin(worker *w, const Wire__View *m, const steps *s, error *err)
{
    reports_begin(w->reports, m->start_step);
    TRY(worker_report_all(w, err));
    TRY(kv_begin(w->kv, w->identity.job_id, w->identity.era, w->identity.incarnation, w->variants.flat,
                 m->n_acting ? m->acting : NULL, err));
    return sync_driver_begin(w->sync_driver, s, m->start_step, m->limit, err);
}

static status take_limit(worker *w, int64_t limit, error *err)
{
    return sync_driver_limit(w->sync_driver, limit, err);
}

static status take_view(worker *w, const sync_driver_share *share, int64_t limit, error *err)
{
    TRY(sync_driver_own(w->sync_driver, share, err));
    return take_limit(w, limit, err);
}

static status serve(worker *w, error *err)
{
    TRY(kv_serve(w->kv, err));
    return w->has_view && w->outcome == OK ? sync_driver_serve(w->sync_driver, report, w, err) : OK;
}

static status tick(worker *w, error *err)
{
    return kv_tick(w->kv, err);
}

/* --- what the master hears --- */

/* Of a step, what is on the servers: the master counts that, and not what is computed. */
static status say_delivered(worker *w, bool again, error *err)
{
    delivered *last = &w->delivered;
    int64_t step = sync_driver_delivered(w->sync_driver), held = sync_driver_step(w->sync_driver);
    bool is_new = step >= 0 && step != last->step;
    if (is_new) {
        last->step = step;
        last->turn_s = (double)(clock_us() - last->held_us) / SECOND_US;
        last->push_s = (double)(kv_pushing_us(w->kv) - last->pushing_us) / SECOND_US;
    }
    if (held != last->held_step) { /* maybe before all was acknowledged that made it */
        last->held_step = held;
        last->held_us = clock_us();
        last->pushing_us = kv_pushing_us(w->kv);
    }
    if (step < 0 || (!is_new && last->view_id == w->view_id && !again))
        return OK;
    last->view_id = w->view_id;
    Wire__Delivered m = WIRE__DELIVERED__INIT;
    m.view = (uint32_t)w->view_id;
    m.seconds = last->turn_s;
    m.push_seconds = last->push_s;
    return worker_say_proto(w, (wire_head){.type = WIRE_DELIVERED, .step = step}, &m.base, err);
}

static net_socket *const *sockets(const worker *w)
{
    return kv_sockets(w->kv);
}

static kv *servers_of(const worker *w)
{
    return w->kv;
}

static int64_t held(const worker *w)
{
    return sync_driver_is_whole(w->sync_driver) ? sync_driver_step(w->sync_driver) : -1;
}

static int64_t computing(const worker *w)
{
    return sync_driver_computing(w->sync_driver);
}

/* Lanes that were given the next step already only wait. */
static int64_t progress(const worker *w, bool *ret_busy)
{
    int64_t step = sync_driver_step(w->sync_driver), given = computing(w);
    *ret_busy = given >= 0 && given <= step;
    return step;
}

static void say_wait(const worker *w, double waited)
{
    int32_t part, missing = sync_driver_missing(w->sync_driver, &part);
    int64_t step = sync_driver_step(w->sync_driver);
    if (part < 0)
        return;
    if (sync_driver_is_held_back(w->sync_driver)) {
        LOG_I("WAIT", "for=master step=%lld since=%.1fs: %s", (long long)step, waited,
              worker_unless_silent(w, "it lets nobody go on yet, for a checkpoint, an evaluation or reports "
                                      "that it has not got"));
        return;
    }
    char *server = worker_describe_server(w, part);
    LOG_W("WAIT", "for=%s version=%lld parts_missing=%d first=%d since=%.1fs", server, (long long)step + 1,
          missing, part, waited);
    free(server);
}

const worker_mode mode_sync = {
    .build = build,
    .begin = begin,
    .view = take_view,
    .limit = take_limit,
    .recorded = take_recorded,
    .serve = serve,
    .tick = tick,
    .say_delivered = say_delivered,
    .sockets = sockets,
    .kv = servers_of,
    .held = held,
    .computing = computing,
    .progress = progress,
    .say_wait = say_wait,
};
