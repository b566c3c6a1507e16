/*
 * The master's loop, by phases:
 *
 *   GATHER   servers are dialled, workers say hello, the first declares the flat vector
 *   SETUP    every server loads its parts (from a checkpoint or drawn) and says READY
 *   RUN      views, reports, votes, cuts
 *   DRAIN    the last cut is committed; the last evaluation is awaited
 *   OVER     everybody was told to stop
 */
#include "master/master.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/store/checkpoint.h"
#include "common/wire/hello.h"
#include "master/fetch.h"
#include "master/ledger.h"
#include "master/members.h"
#include "master/results.h"
#include "master/saver.h"
#include "master/summaries.h"
#include "master/vote.h"
#include "optim/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum phase { GATHER, SETUP, RUN, DRAIN, OVER } phase;

typedef struct server {
    net_socket *socket;
    uint64_t life;                  /* of the process that answered; 0: none yet */
    bool welcomed, ready;
    int64_t heard_us;
} server;

typedef struct master {
    const master_options *o;
    phase phase;
    net_socket *listener;
    server *servers;
    members members;
    buf hello;
    wire_head identity;             /* job id, era */
    uint32_t rollbacks;
    int64_t restarts;

    char digest[65];                /* of the configuration */
    wire_declaration declaration;   /* flat == NULL before the first DECLARE */
    optim optim;
    const char *slot_names[OPTIM_SLOTS];
    steps steps;
    int64_t total;                  /* versions to reach */
    int64_t limit;                  /* last said to workers */
    uint32_t view_id;
    bool view_due;

    ledger *ledger;
    results *results;
    saver *saver;
    fetches *fetches;
    checkpoint *restore;            /* during SETUP: for servers that do not see the job dir */
    vote *vote;
    summaries *summaries;

    int64_t begun_us, tick_us, progress_us, warned_us, drain_us, preempt_us;
    bool preempted;
    status failed;                  /* the first failure of a task */
    error failure;
} master;

enum { TICK_MS = 100, SECOND_US = 1000000 };

static double option(const master *m, const char *key)
{
    return config_f64(m->o->config, key);
}

/* --- sending --- */

static wire_head head_of(const master *m, wire_type type, int64_t step)
{
    wire_head h = m->identity;
    h.type = type;
    h.step = step;
    return h;
}

static void send_to(net_socket *s, const net_peer *to, wire_head h, const ProtobufCMessage *message)
{
    buf packed = BUF_INIT;
    if (message)
        wire_pack(message, &packed);
    net_buffer payload = {.data = packed.data, .bytes = packed.size};
    h.bytes = packed.size;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    error gone = ERROR_INIT;
    /* a peer that left comes back by itself or is declared lost by its silence */
    if (net_send(s, to, head, &payload, &gone) != OK)
        LOG_D("SEND", "type=%s %s", wire_type_name(h.type), gone.text);
    buf_fini(&packed);
}

static void send_servers(master *m, wire_head h, const ProtobufCMessage *message)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        send_to(m->servers[i].socket, NULL, h, message);
}

static void send_workers(master *m, wire_head h, const ProtobufCMessage *message)
{
    for (size_t i = 0; i < m->members.n; i++)
        if (m->members.at[i].alive)
            send_to(m->listener, &m->members.at[i].peer, h, message);
}

/* --- gathering --- */

static void say_hello(master *m, server *s)
{
    wire_head h = head_of(m, WIRE_HELLO, 0);
    h.bytes = m->hello.size;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    net_buffer payload = {.data = m->hello.data, .bytes = m->hello.size};
    if (net_send(s->socket, NULL, head, &payload, NULL) != OK)
        LOG_D("SEND", "type=HELLO");
}

static status settle_k(master *m, error *err)
{
    const config *c = m->o->config;
    int64_t k = jobdir_batches_per_step(m->o->dir);
    if (!k) {
        k = config_has(c, "trainer.batches_per_step")
                ? config_int(c, "trainer.batches_per_step")
                : members_lanes(&m->members) * config_int(c, "trainer.num_gradient_accumulation_steps");
        TRY(jobdir_set_batches_per_step(m->o->dir, k, err));
    }
    m->steps = (steps){.examples = m->declaration.examples_per_epoch,
                       .batch_size = config_int(c, "data_loader.batch_size"),
                       .per_step = k,
                       .drop_last = config_bool(c, "data_loader.drop_last")};
    m->total = config_int(c, "trainer.num_epochs") * steps_per_epoch(&m->steps);
    if (config_has(c, "trainer.max_steps") && config_int(c, "trainer.max_steps") < m->total)
        m->total = config_int(c, "trainer.max_steps");
    uint32_t lanes = members_lanes(&m->members);
    LOG_I("JOB", "steps=%lld steps_per_epoch=%lld batches_per_step=%lld effective_batch=%lld lanes=%u",
          (long long)m->total, (long long)steps_per_epoch(&m->steps), (long long)k,
          (long long)(k * m->steps.batch_size), lanes);
    if (lanes > k)
        LOG_W("IDLE_LANES", "%u lanes for %lld slots: %lld of them only wait; raise trainer.batches_per_step",
              lanes, (long long)k, (long long)(lanes - k));
    return OK;
}

static status newest_checkpoint(const master *m, int64_t *ret, error *err)
{
    int64_t *list = NULL;
    size_t n = 0;
    TRY(checkpoint_list(m->o->dir, &list, &n, err));
    *ret = n ? list[n - 1] : -1;
    free(list);
    return OK;
}

/* What a checkpoint says must fit the job; the servers check their parts themselves. */
static status open_restore(master *m, const char *dir, error *err)
{
    checkpoint_close(&m->restore);
    char *path = jobdir_file(m->o->dir, "%s", dir);
    status st = checkpoint_open(path, false, &m->restore, err);
    free(path);
    TRY(st);
    char digest[65];
    flat_digest(m->declaration.flat, digest);
    if (strcmp(checkpoint_manifest(m->restore)->flat_digest, digest) != 0)
        return FAIL(err, E_DATA, "%s: its tensors are not this model's", dir);
    return OK;
}

static void close_books(master *m)
{
    ledger_close(&m->ledger);
    results_close(&m->results);
    saver_destroy(&m->saver);
    fetches_destroy(&m->fetches);
    vote_destroy(&m->vote);
    summaries_destroy(&m->summaries);
}

static status open_books(master *m, int64_t step, error *err)
{
    const config *c = m->o->config;
    close_books(m);
    schedule rates = schedule_settings(c, m->total);
    TRY(ledger_open(
        &(ledger_options){
            .dir = m->o->dir,
            .steps = m->steps,
            .schedule = rates,
            .summary_steps = config_int(c, "trainer.save_summary_steps"),
        },
        step, &m->ledger, err));
    TRY(results_open(
        &(results_options){
            .dir = m->o->dir,
            .flat = m->declaration.flat,
            .steps = m->steps,
            .validation_metric = config_str(c, "trainer.validation_metric"),
            .patience = config_has(c, "trainer.patience") ? config_int(c, "trainer.patience") : 0,
            .evaluates = m->o->evaluates,
        },
        step, &m->results, err));
    m->saver = saver_create(&(saver_options){
        .dir = m->o->dir,
        .flat = m->declaration.flat,
        .steps = m->steps,
        .begin = step,
        .total = m->total,
        .epoch_ends = m->o->evaluates,
        .every_steps = config_has(c, "trainer.save_checkpoints_steps")
                           ? config_int(c, "trainer.save_checkpoints_steps")
                           : 0,
        .every_s = config_has(c, "trainer.save_checkpoints_secs")
                       ? config_f64(c, "trainer.save_checkpoints_secs")
                       : 0,
        .keep = config_int(c, "trainer.keep_checkpoint_max"),
        .n_servers = m->o->n_servers,
        .era = m->identity.era,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .config_digest = m->digest,
        .slot_names = m->slot_names,
        .n_slots = optim_slots(&m->optim),
    });
    m->fetches = fetches_create(m->o->dir);
    if (config_has(c, "trainer.grad_norm")) {
        m->vote = vote_create(m->declaration.flat->n_live_parts, option(m, "trainer.grad_norm"));
        vote_begin(m->vote, step);
    }
    m->summaries = summaries_create(
        m->declaration.flat, m->o->n_servers,
        config_has(c, "trainer.save_histogram_steps") ? config_int(c, "trainer.save_histogram_steps")
                                                      : steps_per_epoch(&m->steps));
    return OK;
}

static status begin_setup(master *m, error *err)
{
    m->optim = optim_settings(m->o->config);
    for (size_t i = 0; i < optim_slots(&m->optim); i++)
        m->slot_names[i] = optim_slot_name(&m->optim, i);
    TRY(settle_k(m, err));
    int64_t step = -1;
    TRY(newest_checkpoint(m, &step, err));
    char dir[64] = "";
    if (step >= 0) {
        snprintf(dir, sizeof dir, "checkpoints/step-%09lld", (long long)step);
        TRYF(open_restore(m, dir, err), err, "resume");
        LOG_I("RESUME", "step=%lld of=%lld from=%s", (long long)step, (long long)m->total, dir);
    }
    m->identity.era = (uint32_t)(m->restarts + 1) << 12 | m->rollbacks;
    TRY(open_books(m, step < 0 ? 0 : step, err));

    Wire__Declaration declaration;
    wire_declaration_fill(m->declaration.flat, m->declaration.examples_per_epoch, &declaration);
    Wire__Setup s = WIRE__SETUP__INIT;
    s.declaration = &declaration;
    s.servers = (uint32_t)m->o->n_servers;
    s.step = step < 0 ? 0 : step;
    s.restore_dir = dir;
    s.dir_token = (char *)(uintptr_t)jobdir_token(m->o->dir);
    s.batch_size = m->steps.batch_size;
    s.batches_per_step = m->steps.per_step;
    s.drop_last = m->steps.drop_last;
    s.total_steps = m->total;
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        s.server = (uint32_t)i;
        m->servers[i].ready = false;
        send_to(m->servers[i].socket, NULL, head_of(m, WIRE_SETUP, 0), &s.base);
    }
    wire_declaration_clear(&declaration);
    m->phase = SETUP;
    return OK;
}

static bool all_servers(const master *m, bool ready)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!(ready ? m->servers[i].ready : m->servers[i].welcomed))
            return false;
    return true;
}

static bool all_workers(const master *m)
{
    int32_t wanted = m->o->n_workers > 0 ? m->o->n_workers : 1;
    return (int32_t)members_alive(&m->members) >= wanted;
}

/* A first start waits for all, so that K counts them; a resumed job knows its K and waits for one. */
static status try_setup(master *m, error *err)
{
    if (m->phase != GATHER || !m->declaration.flat || !all_servers(m, false))
        return OK;
    double waited = (double)(clock_us() - m->begun_us) / SECOND_US;
    bool patient = waited < option(m, "distributed.start_timeout") && !jobdir_batches_per_step(m->o->dir);
    bool short_of_time = waited < 5 && !all_workers(m);
    return all_workers(m) || (!patient && !short_of_time) ? begin_setup(m, err) : OK;
}

/* --- running --- */

static int64_t limit_now(const master *m)
{
    int64_t limit = saver_limit(m->saver), per_epoch = steps_per_epoch(&m->steps);
    bool decides = config_has(m->o->config, "trainer.patience") && m->o->evaluates;
    if (decides) {
        /* early stopping is decided at the epoch's end, from that epoch's checkpoint */
        int64_t done = ledger_totals_of(m->ledger)->step / per_epoch;
        int64_t edge = (results_waiting(m->results) ? done : done + 1) * per_epoch;
        limit = edge < limit ? edge : limit;
    }
    return limit;
}

static void send_view(master *m, const net_peer *only)
{
    size_t n_lanes = 0;
    view_lane *lanes = members_lane_list(&m->members, &n_lanes);
    size_t k = (size_t)m->steps.per_step;
    view_lane *owners = xcalloc(k, sizeof *owners);
    Wire__View__Owner *slots = xcalloc(k, sizeof *slots), **pointers = xcalloc(k, sizeof *pointers);
    if (n_lanes)
        view_deal(lanes, n_lanes, (uint32_t)k, owners);
    for (size_t i = 0; i < k; i++) {
        wire__view__owner__init(&slots[i]);
        slots[i].worker = owners[i].worker;
        slots[i].lane = owners[i].lane;
        slots[i].trainer = owners[i].trainer;
        pointers[i] = &slots[i];
    }
    Wire__View v = WIRE__VIEW__INIT;
    v.id = ++m->view_id;
    v.n_slots = k;
    v.slots = pointers;
    v.start_step = ledger_totals_of(m->ledger)->step;
    v.limit = m->limit;
    v.examples_per_epoch = m->steps.examples;
    v.batch_size = m->steps.batch_size;
    v.drop_last = m->steps.drop_last;
    if (n_lanes && only)
        send_to(m->listener, only, head_of(m, WIRE_VIEW, 0), &v.base);
    else if (n_lanes)
        send_workers(m, head_of(m, WIRE_VIEW, 0), &v.base);
    free(pointers);
    free(slots);
    free(owners);
    free(lanes);
    m->view_due = false;
}

static void order_cuts(master *m)
{
    cut_order order;
    while (saver_next_order(m->saver, clock_us(), ledger_totals_of(m->ledger)->step, &order)) {
        Wire__Cut cut = WIRE__CUT__INIT;
        cut.id = order.id;
        cut.dir = order.dir;
        send_servers(m, head_of(m, WIRE_CUT, order.version), &cut.base);
    }
    int64_t limit = limit_now(m);
    if (limit == m->limit)
        return;
    m->limit = limit;
    send_workers(m, head_of(m, WIRE_LIMIT, limit), NULL);
}

static void order_histograms(master *m)
{
    int64_t version = summaries_order(m->summaries, ledger_totals_of(m->ledger)->step, m->total);
    if (version < 0)
        return;
    Wire__Histogram h = WIRE__HISTOGRAM__INIT;
    send_servers(m, head_of(m, WIRE_HISTOGRAM, version), &h.base);
}

static status begin_run(master *m, error *err)
{
    m->phase = RUN;
    checkpoint_close(&m->restore);
    m->limit = 0;
    m->progress_us = clock_us();
    int64_t step = ledger_totals_of(m->ledger)->step;
    order_cuts(m);
    order_histograms(m);
    send_view(m, NULL);
    LOG_I("RUN", "step=%lld limit=%lld workers=%u lanes=%u servers=%d era=%u", (long long)step,
          (long long)m->limit, members_alive(&m->members), members_lanes(&m->members), m->o->n_servers,
          m->identity.era);
    if (step >= m->total)
        m->phase = DRAIN;
    (void)err;
    return OK;
}

static void say_progress(const master *m)
{
    if (!m->o->progress)
        return;
    const ledger_totals *t = ledger_totals_of(m->ledger);
    int64_t per_epoch = steps_per_epoch(&m->steps);
    double left = (double)(m->total - t->step) * (double)(m->steps.batch_size * m->steps.per_step);
    master_progress p = {
        .step = t->step,
        .total_steps = m->total,
        .epoch = t->step / per_epoch,
        .epochs = (m->total + per_epoch - 1) / per_epoch,
        .loss = metric_result(&t->last_step, "loss"),
        .accuracy = metric_result(&t->last_step, "accuracy"),
        .rate = (double)schedule_rate(&(schedule){.kind = SCHEDULE_CONSTANT}, 0),
        .examples_per_s = t->examples_per_s,
        .eta_s = t->examples_per_s > 0 ? left / t->examples_per_s : NAN,
    };
    schedule rates = schedule_settings(m->o->config, m->total);
    p.rate = (double)schedule_rate(&rates, t->step > 0 ? t->step - 1 : 0);
    m->o->progress(m->o->user, &p);
}

/* Names in messages die with them; metrics live on. */
static const char *metric_name_of(const char *name)
{
    static const char *const known[] = {"loss", "accuracy"};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], name) == 0)
            return known[i];
    return NULL;
}

static status take_report(master *m, const wire_head *h, const Wire__Report *r, error *err)
{
    metric_set set = {.n = 0};
    for (size_t i = 0; i < r->n_metrics && i < METRIC_COUNT_MAX; i++) {
        const char *name = metric_name_of(r->metrics[i]->name);
        if (name)
            metric_add(&set, name, r->metrics[i]->sum, r->metrics[i]->count);
    }
    int64_t steps_done = 0;
    int64_t before = ledger_totals_of(m->ledger)->step;
    TRY(ledger_report(m->ledger, h->step, h->node.index, &set, r->examples, &steps_done, err));
    if (!steps_done)
        return OK;
    m->progress_us = clock_us();
    m->warned_us = 0;
    if (before == 0)
        LOG_I("FIRST_STEP", "after=%.3fs", (double)(clock_us() - m->begun_us) / SECOND_US);
    order_histograms(m);
    order_cuts(m);
    say_progress(m);
    return OK;
}

static status take_norm(master *m, const wire_head *h, const Wire__Norm *n, error *err)
{
    bool complete = false;
    Wire__Verdict v = WIRE__VERDICT__INIT;
    if (!m->vote)
        return OK;
    TRY(vote_add(m->vote, h->step, h->part, n->square_sum, &complete, &v.scale, err));
    if (complete)
        send_servers(m, head_of(m, WIRE_VERDICT, h->step), &v.base);
    return OK;
}

static status checkpoint_done(master *m, int64_t step, error *err)
{
    LOG_I("CHECKPOINT", "step=%lld", (long long)step);
    const ledger_totals *t = ledger_totals_of(m->ledger);
    if (m->o->evaluates && step % steps_per_epoch(&m->steps) == 0)
        TRY(results_epoch(m->results, step, &t->last_epoch, t->wall_s, err));
    if (step == m->total || (saver_is_hurried(m->saver) && step == saver_limit(m->saver))) {
        m->phase = DRAIN;
        m->drain_us = clock_us();
    }
    order_cuts(m);
    return OK;
}

static status shard_done(master *m, const shard_report *r, error *err)
{
    int64_t step = -1;
    saver_unevaluated(m->saver, results_first_waiting(m->results));
    TRY(saver_shard(m->saver, r, results_best_step(m->results), &step, err));
    return step >= 0 ? checkpoint_done(m, step, err) : OK;
}

static void ask_piece(master *m, int32_t s, uint32_t id, uint64_t offset)
{
    Wire__Shard ask = WIRE__SHARD__INIT;
    ask.id = id;
    ask.offset = offset;
    send_to(m->servers[s].socket, NULL, head_of(m, WIRE_SHARD, 0), &ask.base);
}

static status take_cut_done(master *m, int32_t s, const wire_head *h, const Wire__CutDone *c, error *err)
{
    shard_report r = {
        .id = c->id,
        .version = h->step,
        .server = s,
        .file = c->file,
        .sha256 = c->sha256,
        .bytes = c->bytes,
        .batches = c->batches_applied,
    };
    char dir[64];
    if (!c->spooled)
        return shard_done(m, &r, err);
    if (!saver_dir(m->saver, c->id, dir))
        return OK;
    TRY(fetches_begin(m->fetches, &r, dir, err));
    ask_piece(m, s, c->id, 0);
    return OK;
}

static status take_shard(master *m, int32_t s, const Wire__Shard *piece, error *err)
{
    bool next = false, done = false;
    uint64_t offset = 0;
    shard_report r;
    TRY(fetches_take(m->fetches, s, piece->id, piece->offset, piece->data.data, piece->data.len, &next,
                     &offset, &done, &r, err));
    if (next)
        ask_piece(m, s, piece->id, offset);
    return done ? shard_done(m, &r, err) : OK;
}

/* A server that does not see the job dir restores one vector. */
static status take_load(master *m, int32_t s, const wire_head *h, error *err)
{
    const flat *f = m->declaration.flat;
    if (!m->restore || h->part >= f->n_parts || h->tag > optim_slots(&m->optim))
        return OK;
    size_t n = (size_t)flat_part_elements(f, h->part), rows = 1 + optim_slots(&m->optim);
    void *memory = NULL;
    TRY(mem_alloc(n * rows * sizeof(float), "a part to restore", &memory, err));
    float *vectors = memory, *slots[OPTIM_SLOTS] = {NULL};
    for (size_t i = 1; i < rows; i++)
        slots[i - 1] = vectors + i * n;
    status st = checkpoint_read_part(m->restore, h->part, vectors, f->parts[h->part].frozen ? NULL : slots,
                                     err);
    wire_head answer = head_of(m, WIRE_LOADED, 0);
    answer.part = h->part;
    answer.tag = h->tag;
    answer.bytes = n * sizeof(float);
    unsigned char head[NET_HEAD];
    wire_head_encode(&answer, head);
    net_buffer payload = {.data = vectors + h->tag * n, .bytes = n * sizeof(float)};
    if (st == OK && net_send(m->servers[s].socket, NULL, head, &payload, NULL) != OK)
        LOG_D("SEND", "type=LOADED");
    mem_free(memory);
    return st;
}

static void take_cut_late(master *m, const Wire__CutLate *c)
{
    cut_order order;
    if (!saver_late(m->saver, c->id, c->newest, &order))
        return;
    Wire__Cut cut = WIRE__CUT__INIT;
    cut.id = order.id;
    cut.dir = order.dir;
    send_servers(m, head_of(m, WIRE_CUT, order.version), &cut.base);
    order_cuts(m);
}

/* A server came back without its parts: a new era from the last checkpoint. */
static status roll_back(master *m, int32_t s, error *err)
{
    LOG_W("ROLLBACK", "ps.%d started anew without its parts: back to the last checkpoint", s);
    m->rollbacks++;
    return begin_setup(m, err);
}

/* --- failures --- */

static void fail_from(master *m, status st, const char *who, const char *text)
{
    if (m->failed != OK)
        return;
    m->failed = st;
    error_clear(&m->failure);
    error_set(&m->failure, st, "%s: %s", who, text);
}

static void take_failed(master *m, const Wire__Stop *s)
{
    status st = s->status > OK && s->status < STATUS_COUNT ? (status)s->status : E_FAIL;
    LOG_E("FAILED", "task=%s %s", s->task, s->text);
    fail_from(m, st, s->task, s->text);
}

static void take_preempt(master *m, const char *who)
{
    if (m->preempted)
        return;
    m->preempted = true;
    m->preempt_us = clock_us();
    LOG_W("PREEMPT", "%s is asked to leave: cutting a checkpoint, then the job stops (resumable)", who);
    if (m->saver)
        saver_hurry(m->saver);
}

/* --- dispatch --- */

static status take_hello(master *m, const net_message *message, const Wire__Hello *hello, error *err)
{
    error why = ERROR_INIT;
    task who;
    member *one = NULL;
    bool changed = false;
    status st = hello_check(hello, m->o->config, &who, &why);
    if (st == OK && who.role != ROLE_WORKER)
        st = FAIL(&why, E_PROTOCOL, "%s says hello to a master", hello->role);
    if (st == OK)
        st = members_hello(&m->members, hello, message, clock_us(), &one, &changed, &why);
    if (st != OK) {
        Wire__Refused r = WIRE__REFUSED__INIT;
        r.status = st;
        r.text = why.text;
        LOG_W("REFUSED", "%s", why.text);
        send_to(m->listener, &message->from, head_of(m, WIRE_REFUSED, 0), &r.base);
        return OK;
    }
    char name[TASK_NAME];
    if (changed)
        LOG_I("HELLO", "task=%s host=%s lanes=%u incarnation=%u", member_name(one, name), one->host,
              one->lanes, one->incarnation);
    Wire__Welcome w = WIRE__WELCOME__INIT;
    w.incarnation = one->incarnation;
    w.declare = true;
    w.dir_token = (char *)(uintptr_t)jobdir_token(m->o->dir);
    send_to(m->listener, &message->from, head_of(m, WIRE_WELCOME, 0), &w.base);
    m->view_due |= changed && m->phase >= RUN;
    if (!changed && m->phase >= RUN)
        send_view(m, &message->from);
    return try_setup(m, err);
}

static status take_declare(master *m, const member *from, const Wire__Declaration *d, error *err)
{
    char name[TASK_NAME];
    wire_declaration declared;
    TRYF(wire_declaration_read(d, &declared, err), err, "%s", member_name(from, name));
    if (!m->declaration.flat) {
        m->declaration = declared;
        return try_setup(m, err);
    }
    char ours[65], theirs[65];
    flat_digest(m->declaration.flat, ours);
    flat_digest(declared.flat, theirs);
    bool same = strcmp(ours, theirs) == 0 &&
                declared.examples_per_epoch == m->declaration.examples_per_epoch;
    int64_t examples = declared.examples_per_epoch;
    flat_destroy(&declared.flat);
    if (!same)
        return FAIL(err, E_DATA,
                    "%s declares another model or other data (%lld examples, %lld on the first worker): "
                    "every worker must see the same files",
                    member_name(from, name), (long long)examples,
                    (long long)m->declaration.examples_per_epoch);
    return OK;
}

static status take_worker_proto(master *m, const net_message *message, const wire_head *h, member *from,
                                error *err)
{
    ProtobufCMessage *p = NULL;
    if (wire_unpack(h->type, net_payload_data(&message->payload), net_payload_bytes(&message->payload),
                    &p, NULL) != OK)
        return OK;
    status st = OK;
    switch (h->type) {
    case WIRE_HELLO:
        st = take_hello(m, message, (const Wire__Hello *)p, err);
        break;
    case WIRE_DECLARE:
        st = from ? take_declare(m, from, (const Wire__Declaration *)p, err) : OK;
        break;
    case WIRE_REPORT:
        if (from && m->phase == RUN && h->era == m->identity.era)
            st = take_report(m, h, (const Wire__Report *)p, err);
        break;
    case WIRE_FAILED:
        take_failed(m, (const Wire__Stop *)p);
        break;
    default:
        break;
    }
    wire_free(p);
    return st;
}

static status take_worker(master *m, const net_message *message, error *err)
{
    wire_head h;
    if (wire_head_decode(message->head, net_payload_bytes(&message->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_WORKER, ROLE_MASTER))
        return OK;
    member *from = members_by_peer(&m->members, &message->from);
    if (from) {
        from->heard_us = clock_us();
        if (!from->alive) {
            from->alive = true;
            m->view_due = m->phase >= RUN;
        }
    }
    char name[TASK_NAME];
    if (h.type == WIRE_HEARTBEAT)
        send_to(m->listener, &message->from, head_of(m, WIRE_ALIVE, 0), NULL);
    if (h.type == WIRE_PREEMPT && from)
        take_preempt(m, member_name(from, name));
    if (h.type == WIRE_HEARTBEAT || h.type == WIRE_PREEMPT)
        return OK;
    return take_worker_proto(m, message, &h, from, err);
}

static status take_server_proto(master *m, int32_t s, const net_message *message, const wire_head *h,
                                error *err)
{
    ProtobufCMessage *p = NULL;
    if (wire_unpack(h->type, net_payload_data(&message->payload), net_payload_bytes(&message->payload),
                    &p, NULL) != OK)
        return OK;
    bool current = h->era == m->identity.era && m->phase >= SETUP;
    server *from = &m->servers[s];
    status st = OK;
    if (h->type == WIRE_WELCOME) {
        const Wire__Welcome *w = (const Wire__Welcome *)p;
        bool lost_parts = m->phase >= SETUP && m->phase < OVER && from->life && from->life != w->life;
        from->life = w->life;
        from->welcomed = true;
        st = lost_parts ? roll_back(m, s, err) : try_setup(m, err);
    } else if (h->type == WIRE_READY && current && m->phase == SETUP) {
        from->ready = true;
        if (all_servers(m, true))
            st = begin_run(m, err);
    } else if (h->type == WIRE_NORM && current) {
        st = take_norm(m, h, (const Wire__Norm *)p, err);
    } else if (h->type == WIRE_CUT_DONE && current) {
        st = take_cut_done(m, s, h, (const Wire__CutDone *)p, err);
    } else if (h->type == WIRE_SHARD && current) {
        st = take_shard(m, s, (const Wire__Shard *)p, err);
    } else if (h->type == WIRE_CUT_LATE && current) {
        take_cut_late(m, (const Wire__CutLate *)p);
    } else if (h->type == WIRE_HISTOGRAM && current) {
        st = summaries_take(m->summaries, ledger_events(m->ledger), h->step, (const Wire__Histogram *)p,
                            err);
    } else if (h->type == WIRE_FAILED) {
        take_failed(m, (const Wire__Stop *)p);
    } else if (h->type == WIRE_REFUSED && ((const Wire__Refused *)p)->status != OK) {
        char name[TASK_NAME];
        fail_from(m, (status)((const Wire__Refused *)p)->status, task_name((task){ROLE_PS, s}, name),
                  ((const Wire__Refused *)p)->text);
    }
    wire_free(p);
    return st;
}

static status take_server(master *m, int32_t s, const net_message *message, error *err)
{
    wire_head h;
    if (wire_head_decode(message->head, net_payload_bytes(&message->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_PS, ROLE_MASTER))
        return OK;
    m->servers[s].heard_us = clock_us();
    char name[TASK_NAME];
    if (h.type == WIRE_PREEMPT)
        take_preempt(m, task_name((task){ROLE_PS, s}, name));
    if (h.type == WIRE_LOAD && h.era == m->identity.era)
        return take_load(m, s, &h, err);
    if (h.type == WIRE_ALIVE || h.type == WIRE_PREEMPT || h.type == WIRE_LOAD)
        return OK;
    return take_server_proto(m, s, message, &h, err);
}

static status receive_server(master *m, int32_t i, error *err)
{
    net_message message;
    while (net_receive(m->servers[i].socket, &message)) {
        status st = take_server(m, i, &message, err);
        net_payload_close(&message.payload);
        TRY(st);
    }
    return OK;
}

static status serve_servers(master *m, error *err)
{
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        server *s = &m->servers[i];
        net_event event;
        while (net_next_event(s->socket, &event)) {
            if (event.kind == NET_UP) {
                say_hello(m, s);
                continue;
            }
            /* what came before the loss counts: it may say why the server left */
            TRY(receive_server(m, i, err));
            net_close(&s->socket, 0);
            s->welcomed = false;
            TRY(net_dial(m->o->net, m->o->servers[i], &s->socket, err));
        }
        TRY(receive_server(m, i, err));
    }
    return OK;
}

static status serve_workers(master *m, error *err)
{
    net_event event;
    while (net_next_event(m->listener, &event)) {
        member *lost = members_by_connection(&m->members, event.connection);
        char name[TASK_NAME];
        if (lost && lost->alive && m->phase < OVER)
            LOG_W("SUSPECT", "task=%s: its connection is gone", member_name(lost, name));
    }
    net_message message;
    for (int i = 0; i < 256 && net_receive(m->listener, &message); i++) {
        status st = take_worker(m, &message, err);
        net_payload_close(&message.payload);
        TRY(st);
    }
    return OK;
}

/* --- time --- */

static void drop_silent(master *m, int64_t now)
{
    for (size_t i = 0; i < m->members.n; i++) {
        member *one = &m->members.at[i];
        double silent = (double)(now - one->heard_us) / SECOND_US;
        char name[TASK_NAME];
        if (!one->alive || silent < option(m, "distributed.heartbeat_timeout"))
            continue;
        LOG_W("LOST", "task=%s silent=%.1fs: its slots go to the other lanes", member_name(one, name), silent);
        one->alive = false;
        m->view_due = m->phase >= RUN;
    }
}

static void say_gather_wait(const master *m, double waited)
{
    for (int32_t i = 0; i < m->o->n_servers; i++)
        if (!m->servers[i].welcomed)
            LOG_W("WAIT", "for=ps.%d endpoint=%s since=%.1fs", i, m->o->servers[i], waited);
    if (!all_workers(m))
        LOG_W("WAIT", "for=workers here=%u of=%d since=%.1fs", members_alive(&m->members), m->o->n_workers,
              waited);
}

static void warn_of_waits(master *m, int64_t now)
{
    int64_t since = m->phase == GATHER ? m->begun_us : m->progress_us;
    int64_t waited = now - since;
    if (m->phase >= DRAIN || waited < (int64_t)(option(m, "distributed.wait_warning") * SECOND_US) ||
        now < m->warned_us)
        return;
    m->warned_us = now + 2 * waited;
    double seconds = (double)waited / SECOND_US;
    if (m->phase == GATHER)
        say_gather_wait(m, seconds);
    if (m->phase != RUN || results_waiting(m->results))
        return;
    char missing[128];
    ledger_missing(m->ledger, missing, sizeof missing);
    LOG_W("WAIT", "for=reports step=%lld slots=%s workers=%u since=%.1fs",
          (long long)ledger_totals_of(m->ledger)->step, missing, members_alive(&m->members), seconds);
}

static status check_lost(master *m, int64_t now, error *err)
{
    double waited = (double)(now - (m->phase == GATHER ? m->begun_us : m->progress_us)) / SECOND_US;
    if (m->phase == GATHER && waited > option(m, "distributed.start_timeout"))
        return FAIL(err, E_LOST, "after %.0f s %s", waited,
                    all_servers(m, false) ? "no worker has come" : "a parameter server has not come");
    if (m->phase == RUN && !members_alive(&m->members) && waited > option(m, "distributed.lost_timeout"))
        return FAIL(err, E_LOST, "no worker for %.0f s", waited);
    return OK;
}

static status tick(master *m, error *err)
{
    int64_t now = clock_us();
    if (m->o->stop && atomic_load(m->o->stop))
        take_preempt(m, "the master");
    if (m->phase >= RUN) {
        bool stop = false;
        TRY(results_poll(m->results, &stop, err));
        if (stop && m->phase == RUN && !saver_is_hurried(m->saver)) {
            m->total = saver_last(m->saver);
            LOG_I("EARLY_STOP", "step=%lld: no improvement in %lld epochs", (long long)m->total,
                  (long long)config_int(m->o->config, "trainer.patience"));
            m->phase = DRAIN;
            m->drain_us = now;
        }
        if (m->phase == RUN)
            order_cuts(m);
    }
    warn_of_waits(m, now);
    if (now - m->tick_us < SECOND_US)
        return OK;
    m->tick_us = now;
    drop_silent(m, now);
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        if (m->servers[i].welcomed)
            send_to(m->servers[i].socket, NULL, head_of(m, WIRE_HEARTBEAT, 0), NULL);
        else
            say_hello(m, &m->servers[i]);
    }
    TRY(try_setup(m, err));
    return check_lost(m, now, err);
}

/* Nothing is left to wait for but the last evaluation. */
static bool is_drained(const master *m)
{
    double preempted_s = m->preempted ? (double)(clock_us() - m->preempt_us) / SECOND_US : 0;
    if (m->preempted && (m->phase < RUN || preempted_s > option(m, "distributed.preempt_grace")))
        return true;
    if (m->phase != DRAIN)
        return false;
    if (m->preempted || !m->o->evaluates)
        return true;
    bool waited = (double)(clock_us() - m->drain_us) / SECOND_US > option(m, "trainer.final_eval_timeout");
    if (waited)
        LOG_W("NO_EVALUATION", "the last checkpoint was not evaluated within final_eval_timeout");
    return waited || (!results_waiting(m->results) && results_has(m->results, m->total));
}

static status loop(master *m, error *err)
{
    size_t n = (size_t)m->o->n_servers;
    net_socket **sockets = xcalloc(n + 1, sizeof *sockets);
    status st = OK;
    while (st == OK && m->failed == OK && !is_drained(m)) {
        for (size_t i = 0; i < n; i++)
            sockets[i] = m->servers[i].socket;
        sockets[n] = m->listener;
        st = net_poll(sockets, n + 1, NULL, TICK_MS, err);
        if (st == OK)
            st = serve_servers(m, err);
        if (st == OK)
            st = serve_workers(m, err);
        if (st == OK && m->view_due)
            send_view(m, NULL);
        if (st == OK && m->failed == OK && m->o->abort && atomic_load(m->o->abort))
            st = FAIL(err, E_ABORTED, "another role of this process failed");
        if (st == OK)
            st = tick(m, err);
    }
    free(sockets);
    if (st == OK && m->failed != OK)
        st = FAIL(err, m->failed, "%s", m->failure.text);
    return st;
}

/* --- the end --- */

static void stop_all(master *m, status st, const char *text)
{
    Wire__Stop s = WIRE__STOP__INIT;
    s.status = st;
    s.text = (char *)(uintptr_t)text;
    s.task = (char *)(uintptr_t)"master.0";
    send_workers(m, head_of(m, WIRE_STOP, 0), &s.base);
    send_servers(m, head_of(m, WIRE_STOP, 0), &s.base);
    m->phase = OVER;
}

static status finish(master *m, error *err)
{
    if (m->preempted && saver_last(m->saver) < m->total)
        return FAIL(err, E_PREEMPTED, "preempted: checkpoint step %lld is complete; start again to resume",
                    (long long)saver_last(m->saver));
    saver_unevaluated(m->saver, results_first_waiting(m->results));
    TRY(saver_prune(m->saver, results_best_step(m->results), err));
    results_end end = {
        .totals = ledger_totals_of(m->ledger),
        .steps_done = m->total,
        .batches_applied = saver_batches(m->saver),
        .lanes = members_lanes(&m->members),
        .workers = members_alive(&m->members),
        .ps = m->o->n_servers,
        .restarts = m->restarts,
    };
    return results_finish(m->results, &end, err);
}

/* A job that failed by bad numbers says from where it can be taken up. */
static void name_last_checkpoint(const master *m, status st, error *err)
{
    int64_t step = -1;
    if (st != E_NONFINITE || !err || newest_checkpoint(m, &step, NULL) != OK)
        return;
    size_t used = strlen(err->text);
    if (step >= 0)
        snprintf(err->text + used, sizeof err->text - used, "; the last good checkpoint is step %lld",
                 (long long)step);
    else
        snprintf(err->text + used, sizeof err->text - used, "; there is no checkpoint yet");
}

static status build(master *m, error *err)
{
    TRY(jobdir_count_start(m->o->dir, &m->restarts, err));
    m->identity.job_id = jobdir_job_id(m->o->dir);
    config_digest(m->o->config, m->digest);
    hello_pack(
        &(hello_facts){
            .config = m->o->config,
            .task = {.role = ROLE_MASTER},
            .life = hello_life(),
            .job_id = m->identity.job_id,
            .master_address = m->o->relay_address,
        },
        &m->hello);
    TRY(net_listen(m->o->net, m->o->endpoints, m->o->n_endpoints, m->o->listen_fd, &m->listener, err));
    m->servers = xcalloc((size_t)m->o->n_servers, sizeof *m->servers);
    for (int32_t i = 0; i < m->o->n_servers; i++)
        TRY(net_dial(m->o->net, m->o->servers[i], &m->servers[i].socket, err));
    m->begun_us = m->progress_us = clock_us();
    return OK;
}

static void unbuild(master *m)
{
    for (int32_t i = 0; m->servers && i < m->o->n_servers; i++)
        net_close(&m->servers[i].socket, 2000);
    net_close(&m->listener, 2000);
    close_books(m);
    checkpoint_close(&m->restore);
    members_fini(&m->members);
    flat_destroy(&m->declaration.flat);
    buf_fini(&m->hello);
    free(m->servers);
}

status master_run(const master_options *options, error *err)
{
    error mine = ERROR_INIT;
    error *e = err ? err : &mine;
    master m = {.o = options};
    status st = build(&m, e);
    if (st == OK)
        st = loop(&m, e);
    if (st == OK && !m.saver)
        st = FAIL(e, E_PREEMPTED, "preempted before the first step");
    if (st == OK)
        st = finish(&m, e);
    name_last_checkpoint(&m, st, e);
    if (m.listener)
        stop_all(&m, st, e->text);
    unbuild(&m);
    return st;
}
