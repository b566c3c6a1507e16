/*
 * Lanes that go each its own way, by the batches leased to it: weights and a kv each.
 */
#include "worker/state.h"

#include "common/base/log.h"

#include <stdlib.h>

/* A batch is reported again when its lease is said again: nothing is kept. */
static status mode_async_report(void *user, const note *n, error *err)
{
    worker *w = user;
    return reports_say(&n->measured, master_link_report, &w->master, err);
}

static status mode_async_build(worker *w, const kv_options *servers, error *err)
{
    return async_lanes_create(
        &(async_lanes_options){
            .flat = w->variants.flat,
            .kv = *servers,
            .shared = w->lanes.shared,
            .lanes = w->lanes.at,
            .n_lanes = w->o->n_lanes,
            .done = mode_async_report,
            .user = w,
        },
        &w->async_lanes, err);
}

static void mode_async_unbuild(worker *w)
{
    async_lanes_destroy(&w->async_lanes);
}

static status mode_async_begin(worker *w, const Wire__View *m, const steps *s, error *err)
{
    (void)m;
    return async_lanes_begin(w->async_lanes, &w->master.identity, s, err);
}

static status mode_async_take_lease(worker *w, const wire_head *h, error *err)
{
    return async_lanes_lease(w->async_lanes, (uint32_t)wire_lease_lane(h), wire_lease_batch(h),
                             wire_lease_floor(h), err);
}

static status mode_async_serve(worker *w, error *err)
{
    return async_lanes_serve(w->async_lanes, err);
}

static status mode_async_tick(worker *w, error *err)
{
    return async_lanes_tick(w->async_lanes, err);
}

static net_socket *const *mode_async_sockets(const worker *w)
{
    return async_lanes_sockets(w->async_lanes);
}

static kv *mode_async_servers_of(const worker *w)
{
    return async_lanes_kv(w->async_lanes);
}

static int64_t mode_async_none(const worker *w)
{
    (void)w;
    return -1;
}

static int64_t mode_async_progress(const worker *w, bool *ret_busy)
{
    *ret_busy = async_lanes_is_computing(w->async_lanes);
    return async_lanes_reported(w->async_lanes);
}

static void mode_async_list_waits(const worker *w, double waited, wait_list *ret)
{
    int64_t batch;
    int32_t part;
    if (!async_lanes_is_waiting(w->async_lanes, &batch, &part)) {
        wait_list_add(ret, LOG_INFO, "for=master since=%.1fs: no batch is leased to us, and %s", waited,
                      worker_unless_silent(w, "it is heard"));
        wait_list_words(ret, waited, "master.0", "a batch to be leased to it");
        return;
    }
    char *server = worker_describe_server(w, part), name[TASK_NAME];
    const kv *servers = mode_async_servers_of(w);
    bool is_up = kv_server_is_up(servers, kv_server_of(servers, part));
    wait_list_add(ret, LOG_WARN, "for=%s batch=%lld first=%d since=%.1fs%s", server, (long long)batch, part, waited,
                  is_up ? ": its weights, or batches before this one, are on their way" : "");
    wait_list_words(ret, waited, worker_name_server(w, part, name), "part %d of %s, for batch %lld", part, name,
                    (long long)batch);
    free(server);
}

static void mode_async_describe(const worker *w, int32_t server, kv_link *ret)
{
    async_lanes_describe(w->async_lanes, server, ret);
}

const worker_mode mode_async = {
    .build = mode_async_build,
    .unbuild = mode_async_unbuild,
    .begin = mode_async_begin,
    .lease = mode_async_take_lease,
    .serve = mode_async_serve,
    .tick = mode_async_tick,
    .sockets = mode_async_sockets,
    .kv = mode_async_servers_of,
    .held = mode_async_none,
    .computing = mode_async_none,
    .progress = mode_async_progress,
    .list_waits = mode_async_list_waits,
    .describe = mode_async_describe,
};
