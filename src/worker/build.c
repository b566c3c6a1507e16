/*
 * What a worker is made of: what it trains, lanes, connections, and what hands work to the lanes.
 */
#include "worker/state.h"

#include "common/config/training.h"
#include "common/wire/hello.h"
#include "model/initial.h"
#include "worker/first_reading.h"
#include "worker/memory.h"

#include <stdio.h>

/* What decides the result beside the configuration: facts of the data, and of files of the model. */
static status find_files(worker *w, error *err)
{
    facts_check how = facts_check_of(w->o->config);
    dataset_facts(w->variants.data, "train_data_path", how, &w->files);
    TRY(model_facts(config_section(w->o->config, "model"), how, &w->files, err));
    facts_log(w->files.data);
    return OK;
}

static status build_hello(worker *w, error *err)
{
    char digest[65], engine[256], fingerprint[512];
    flat_digest(w->variants.flat, digest);
    TRY(worker_fingerprint(w, engine, sizeof engine, err));
    snprintf(fingerprint, sizeof fingerprint, "tequio %s; %s; threads %d", TEQUIO_VERSION, engine,
             (int)config_int(w->o->config, "trainer.threads"));
    hello_pack(
        &(hello_facts){
            .config = w->o->config,
            .task = w->o->self,
            .life = w->life,
            .fingerprint = fingerprint,
            .lanes = (uint32_t)w->o->n_lanes,
            .flat_digest = digest,
            .trainer = w->o->trainer,
            .servers = (uint32_t)w->o->n_servers,
            .files = w->files.data,
        },
        &w->master.hello);
    return OK;
}

/* On a device parts are updated in the order in which they are made, and nothing is kept on their way. */
static size_t credit(const worker *w)
{
    return w->store->is_host ? (size_t)config_int(w->o->config, "distributed.credit_bytes") : SIZE_MAX;
}

static status build_check_memory(const worker *w, error *err)
{
    return worker_memory_check(&(worker_memory){.config = w->o->config,
                                                .variants = &w->variants,
                                                .device = w->o->devices[0],
                                                .n_lanes = w->o->n_lanes,
                                                .n_readers = w->o->n_readers,
                                                .n_servers = w->o->n_servers,
                                                .servers = w->o->servers_here},
                               err);
}

static status read_all(worker *w, error *err)
{
    TRY(variants_build(w->o->config, &w->variants, err));
    if (w->o->self.index == 0)
        variants_warn(w->o->config, &w->variants);
    TRY(build_check_memory(w, err));
    return find_files(w, err);
}

status worker_build(worker *w, error *err)
{
    w->schedule = training_schedule(w->o->config);
    w->mode = w->schedule.in_order ? &mode_sync : &mode_async;
    TRY(net_waker_create(&w->waker, err));
    w->life = hello_life();
    TRY(first_reading_run(w, read_all, err));
    w->reports = reports_create();
    w->store = part_store_or_host(w->o->resident ? resident_store(w->o->resident) : NULL);
    TRY(worker_build_lanes(w, err));
    TRY(build_hello(w, err));
    kv_options servers = {
        .net = w->o->net,
        .servers = w->o->servers,
        .n_servers = w->o->n_servers,
        .first_server = w->o->first_server,
        .credit_bytes = credit(w),
        .hello = &w->master.hello,
        .hooks = {.welcome = worker_on_welcome, .refused = worker_on_refused, .user = w},
    };
    TRY(w->mode->build(w, &servers, err));
    return w->o->master ? master_link_dial(&w->master, w->o->master, err) : OK;
}

/* Memory under way goes first: kv gives pushes back, the driver its sums, stores what they borrowed from
 * servers; then lanes may end. */
void worker_unbuild(worker *w)
{
    if (w->mode)
        w->mode->unbuild(w);
    worker_leave_stores(w);
    reports_destroy(&w->reports);
    worker_unbuild_lanes(w);
    master_link_fini(&w->master, w->master.is_up ? LAST_WORD_MS : 0);
    net_waker_destroy(&w->waker);
    variants_fini(&w->variants);
    buf_fini(&w->files);
}
