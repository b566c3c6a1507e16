/*
 * A worker's lanes, with what they share: weights, notes, and on several devices the sums that they make
 * among themselves.
 */
#include "worker/state.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/config/training.h"
#include "optim/settings.h"
#include "worker/lane_metrics.h"

#include <stdlib.h>
#include <string.h>

static status build_store(const worker *w, weight_store **ret, error *err)
{
    if (!w->o->devices[0].ops->queue)
        return weights_host_create(w->variants.flat, ret, err);
    *ret = weights_uploaded_create(w->variants.flat);
    return OK;
}

/* Lanes that follow the same versions share what they compute with; else each has its own. */
static status build_shared(worker *w, error *err)
{
    const flat *f = w->variants.flat;
    w->lanes.n_shared = w->schedule.in_order ? 1 : w->o->n_lanes;
    w->lanes.shared = xcalloc((size_t)w->lanes.n_shared, sizeof *w->lanes.shared);
    for (int32_t i = 0; i < w->lanes.n_shared; i++) {
        lane_shared *s = &w->lanes.shared[i];
        TRY(build_store(w, &s->store, err));
        s->weights = weights_view_create(f, s->store);
        s->notes = lane_notes_create(w->waker);
    }
    return OK;
}

static void unbuild_shared(worker *w)
{
    for (int32_t i = 0; w->lanes.shared && i < w->lanes.n_shared; i++) {
        lane_notes_destroy(&w->lanes.shared[i].notes);
        weights_view_destroy(&w->lanes.shared[i].weights);
        weight_store_destroy(&w->lanes.shared[i].store);
    }
    free(w->lanes.shared);
}

/* Lanes on several devices add up among themselves what the worker pushes. */
static void build_peers(worker *w)
{
    bool is_wanted = strcmp(config_str(w->o->config, "distributed.intra_host"), "none") != 0;
    if (is_wanted && w->schedule.in_order && w->o->n_lanes > 1 && w->o->devices[0].ops->queue)
        w->lanes.peers = peers_create(w->o->n_lanes, w->variants.flat);
}

/* What they cannot do is done on the host. */
static void connect_peers(worker *w)
{
    error why = ERROR_INIT;
    if (w->lanes.peers && peers_connect(w->lanes.peers, &why) != OK)
        LOG_W("INTRA_HOST", "gradients are added up on the host: %s", why.text);
    else if (w->lanes.peers)
        LOG_I("INTRA_HOST", "%d lanes add up gradients on their devices, %s", w->o->n_lanes,
              peers_way(w->lanes.peers));
}

static status build_lanes(worker *w, error *err)
{
    const config *c = w->o->config;
    const optim settings = optim_settings(c);
    int64_t lanes = (int64_t)w->o->n_lanes * (w->o->n_workers > 0 ? w->o->n_workers : 1);
    w->lanes.at = xcalloc((size_t)w->o->n_lanes, sizeof(lane *));
    for (int32_t i = 0; i < w->o->n_lanes; i++) {
        lane_metrics *metrics = NULL;
        TRY(lane_metrics_open(c, &w->variants, &metrics, err));
        TRYF(lane_create(
                 &(lane_options){
                     .index = i,
                     .task = w->name,
                     .backend = w->o->devices[i].ops,
                     .device = w->o->devices[i].options,
                     .flat = w->variants.flat,
                     .graphs = (const graph *const *)w->variants.graphs,
                     .shapes = w->variants.shapes,
                     .n_graphs = w->variants.n,
                     .sum_level = training_sum_level(c, lanes),
                     .budget = training_memory(c),
                     .loader = variants_loader(c, &w->variants, w->o->n_readers),
                     .shared = w->lanes.shared[i % w->lanes.n_shared],
                     .scaling = loss_scale_settings(c),
                     .metrics = metrics,
                     .model = config_section(c, "model"),
                     .watches = !loss_scale_settings(c).dynamic &&
                                !config_has(c, "trainer.grad_clipping"),
                     .peers = w->lanes.peers,
                     .resident = w->o->resident,
                     .server_slots = optim_slots(&settings),
                 },
                 &w->lanes.at[i], err),
             err, "lane %d", i);
    }
    return OK;
}

/* What all lanes have: else their bits would be mixed. */
status worker_fingerprint(const worker *w, char *ret, size_t bytes, error *err)
{
    char other[256];
    lane_fingerprint(w->lanes.at[0], ret, bytes);
    for (int32_t i = 1; i < w->o->n_lanes; i++) {
        lane_fingerprint(w->lanes.at[i], other, sizeof other);
        if (strcmp(ret, other) != 0)
            return FAIL(err, E_CONFIG,
                        "lane %d computes other bits: '%s' there, '%s' on lane 0; use devices of "
                        "one kind",
                        i, other, ret);
    }
    return OK;
}

status worker_build_lanes(worker *w, error *err)
{
    TRY(build_shared(w, err));
    build_peers(w);
    TRY(build_lanes(w, err));
    connect_peers(w);
    return OK;
}

void worker_leave_stores(const worker *w)
{
    for (int32_t i = 0; w->lanes.shared && i < w->lanes.n_shared; i++)
        weight_store_leave(w->lanes.shared[i].store);
}

status worker_settle_stores(const worker *w, error *err)
{
    for (int32_t i = 0; i < w->lanes.n_shared; i++)
        TRY(weight_store_settle(w->lanes.shared[i].store, err));
    return OK;
}

void worker_unbuild_lanes(worker *w)
{
    for (int32_t i = 0; w->lanes.at && i < w->o->n_lanes; i++)
        lane_destroy(&w->lanes.at[i]);
    free(w->lanes.at);
    peers_destroy(&w->lanes.peers);
    unbuild_shared(w);
}
