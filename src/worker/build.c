/*
 * What a worker is made of: lanes with what they share, connections, and what hands work to the lanes.
 */
#include "worker/state.h"

#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/config/training.h"
#include "common/wire/hello.h"
#include "model/initial.h"
#include "optim/settings.h"
#include "worker/memory.h"

#include <stdio.h>
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
    w->n_shared = w->schedule.in_order ? 1 : w->o->n_lanes;
    w->shared = xcalloc((size_t)w->n_shared, sizeof *w->shared);
    for (int32_t i = 0; i < w->n_shared; i++) {
        lane_shared *s = &w->shared[i];
        TRY(build_store(w, &s->store, err));
        s->weights = weights_view_create(f, s->store);
        s->notes = lane_notes_create(w->waker);
    }
    return OK;
}

/* Before lanes end: nothing is on its way to their devices any more. */
static void leave_stores(const worker *w)
{
    for (int32_t i = 0; w->shared && i < w->n_shared; i++)
        weight_store_leave(w->shared[i].store);
}

static void unbuild_shared(worker *w)
{
    for (int32_t i = 0; w->shared && i < w->n_shared; i++) {
        lane_notes_destroy(&w->shared[i].notes);
        weights_view_destroy(&w->shared[i].weights);
        weight_store_destroy(&w->shared[i].store);
    }
    free(w->shared);
}

/* Lanes on several devices add up among themselves what the worker pushes. */
static void build_peers(worker *w)
{
    bool is_wanted = strcmp(config_str(w->o->config, "distributed.intra_host"), "none") != 0;
    if (is_wanted && w->schedule.in_order && w->o->n_lanes > 1 && w->o->devices[0].ops->queue)
        w->peers = peers_create(w->o->n_lanes, w->variants.flat);
}

/* What they cannot do is done on the host. */
static void connect_peers(worker *w)
{
    error why = ERROR_INIT;
    if (w->peers && peers_connect(w->peers, &why) != OK)
        LOG_W("INTRA_HOST", "gradients are added up on the host: %s", why.text);
    else if (w->peers)
        LOG_I("INTRA_HOST", "%d lanes add up gradients on their devices, %s", w->o->n_lanes,
              peers_way(w->peers));
}

static status build_lanes(worker *w, error *err)
{
    const config *c = w->o->config;
    const optim settings = optim_settings(c);
    int64_t lanes = (int64_t)w->o->n_lanes * (w->o->n_workers > 0 ? w->o->n_workers : 1);
    w->lanes = xcalloc((size_t)w->o->n_lanes, sizeof(lane *));
    for (int32_t i = 0; i < w->o->n_lanes; i++)
        TRYF(lane_create(
                 &(lane_options){
                     .index = i,
                     .task = w->name,
                     .backend = w->o->devices[i].ops,
                     .device = w->o->devices[i].options,
                     .flat = w->variants.flat,
                     .graphs = (const graph *const *)w->variants.graphs,
                     .batch_sizes = w->variants.batch_sizes,
                     .n_graphs = w->variants.n,
                     .sum_level = training_sum_level(c, lanes),
                     .loader = variants_loader(c, &w->variants),
                     .shared = w->shared[i % w->n_shared],
                     .scaling = loss_scale_settings(c),
                     .model = config_section(c, "model"),
                     .watches = !loss_scale_settings(c).dynamic &&
                                !config_has(c, "trainer.grad_clipping"),
                     .peers = w->peers,
                     .resident = w->o->resident,
                     .server_slots = optim_slots(&settings),
                 },
                 &w->lanes[i], err),
             err, "lane %d", i);
    return OK;
}

/* What all lanes have: else their bits would be mixed. */
static status find_fingerprint(const worker *w, char *ret, size_t bytes, error *err)
{
    char other[256];
    lane_fingerprint(w->lanes[0], ret, bytes);
    for (int32_t i = 1; i < w->o->n_lanes; i++) {
        lane_fingerprint(w->lanes[i], other, sizeof other);
        if (strcmp(ret, other) != 0)
            return FAIL(err, E_CONFIG,
                        "lane %d computes other bits: '%s' there, '%s' on lane 0; use devices of "
                        "one kind",
                        i, other, ret);
    }
    return OK;
}

/* What decides the result beside the configuration: facts of the data, and of files of the model. */
static status find_files(const worker *w, buf *ret, error *err)
{
    facts_check how = facts_check_of(w->o->config);
    dataset_facts(w->variants.data, "train_data_path", how, ret);
    TRY(model_facts(config_section(w->o->config, "model"), how, ret, err));
    facts_log(ret->data);
    return OK;
}

static status build_hello(worker *w, error *err)
{
    char digest[65], engine[256], fingerprint[512];
    buf files = BUF_INIT;
    flat_digest(w->variants.flat, digest);
    TRY(find_fingerprint(w, engine, sizeof engine, err));
    TRY(find_files(w, &files, err));
    snprintf(fingerprint, sizeof fingerprint, "tequio %s; %s; threads %d", TEQUIO_VERSION, engine,
             (int)config_int(w->o->config, "trainer.threads"));
    hello_pack(
        &(hello_facts){
            .config = w->o->config,
            .task = w->o->self,
            .life = hello_life(),
            .fingerprint = fingerprint,
            .lanes = (uint32_t)w->o->n_lanes,
            .flat_digest = digest,
            .trainer = w->o->trainer,
            .servers = (uint32_t)w->o->n_servers,
            .files = files.data,
        },
        &w->hello);
    buf_fini(&files);
    return OK;
}

part_store *worker_store(const worker *w)
{
    return part_store_or_host(w->o->resident ? resident_store(w->o->resident) : NULL);
}

/* On a device parts are updated in the order in which they are made, and nothing is kept on their way. */
static size_t credit(const worker *w)
{
    bool is_host = worker_store(w)->is_host;
    return is_host ? (size_t)config_int(w->o->config, "distributed.credit_bytes") : SIZE_MAX;
}

static status check_memory(const worker *w, error *err)
{
    return worker_memory_check(&(worker_memory){.config = w->o->config,
                                                .variants = &w->variants,
                                                .device = w->o->devices[0],
                                                .n_lanes = w->o->n_lanes,
                                                .servers = w->o->servers_here},
                               err);
}

status worker_build(worker *w, error *err)
{
    w->schedule = training_schedule(w->o->config);
    w->mode = w->schedule.in_order ? &mode_sync : &mode_async;
    TRY(variants_build(w->o->config, &w->variants, err));
    if (w->o->self.index == 0)
        variants_warn(w->o->config, &w->variants);
    TRY(check_memory(w, err));
    TRY(net_waker_create(&w->waker, err));
    w->reports = reports_create();
    TRY(build_shared(w, err));
    build_peers(w);
    TRY(build_lanes(w, err));
    connect_peers(w);
    TRY(build_hello(w, err));
    kv_options servers = {
        .net = w->o->net,
        .servers = w->o->servers,
        .n_servers = w->o->n_servers,
        .first_server = w->o->first_server,
        .credit_bytes = credit(w),
        .hello = &w->hello,
        .memory = weights_view_store(w->shared[0].weights)->memory,
        .hooks = {.welcome = worker_on_welcome, .refused = worker_on_refused, .user = w},
    };
    TRY(w->mode->build(w, &servers, err));
    return w->o->master ? worker_dial_master(w, w->o->master, err) : OK;
}

/* Memory under way goes first: kv gives pushes back, the driver its sums, stores what they borrowed from
 * servers; then lanes may end. */
void worker_unbuild(worker *w)
{
    async_lanes_destroy(&w->async_lanes);
    kv_destroy(&w->kv);
    sync_driver_destroy(&w->sync_driver);
    leave_stores(w);
    reports_destroy(&w->reports);
    for (int32_t i = 0; w->lanes && i < w->o->n_lanes; i++)
        lane_destroy(&w->lanes[i]);
    free(w->lanes);
    peers_destroy(&w->peers);
    unbuild_shared(w);
    net_close(&w->master, w->is_up ? LAST_WORD_MS : 0);
    free(w->master_endpoint);
    buf_fini(&w->hello);
    buf_fini(&w->packed);
    net_waker_destroy(&w->waker);
    variants_fini(&w->variants);
}
