/*
 * The server's loop: one socket, one thread. Every message is decoded, checked against the grammar,
 * the job and the era, and handled at once; what cannot be answered yet (a pull of the next
 * version) waits in a list per part.
 */
#include "ps/ps.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/parts/placement.h"
#include "common/store/jobdir.h"
#include "common/wire/hello.h"
#include "optim/settings.h"
#include "ps/cut.h"
#include "ps/histograms.h"
#include "ps/spool.h"
#include "ps/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct waiting_pull {
    net_peer peer;
    int64_t version;
    int64_t since_us;
} waiting_pull;

typedef struct pull_list {
    waiting_pull *at;
    size_t n, cap;
} pull_list;

typedef struct ps {
    const ps_options *o;
    net_socket *socket;
    net_waker *waker;
    uint64_t life;

    bool has_master, set_up, stopped, preempt_said;
    net_peer master;
    int64_t master_heard_us;
    char *master_address;
    wire_head identity;             /* job id and era of the job we serve */
    status outcome;
    error *err;

    jobdir *dir;
    spool *spool;                   /* instead, where the master's job dir is not seen */
    int32_t load_part;              /* restoring through the master: the vector asked for */
    uint64_t load_row;
    wire_declaration declaration;
    int32_t *placement;
    int32_t server, n_servers;
    optim optim;
    const char *slot_names[OPTIM_SLOTS];
    table *table;
    cuts *cuts;
    histograms *histograms;
    pull_list *pulls;               /* [n_parts] */
    int64_t warned_us, stop_us;
    uint64_t refused;
} ps;

enum { TICK_MS = 200, WAITING_MAX = 4096 };

static status reply(ps *s, const net_peer *to, wire_head h, const net_buffer *payload, error *err)
{
    h.job_id = s->identity.job_id;
    h.era = s->identity.era;
    h.bytes = payload ? payload->bytes : 0;
    unsigned char head[NET_HEAD];
    wire_head_encode(&h, head);
    error gone = ERROR_INIT;
    /* a peer that left does not concern us: it will be back, or the master will say so */
    if (net_send(s->socket, to, head, payload, &gone) != OK)
        LOG_D("SEND", "type=%s %s", wire_type_name(h.type), gone.text);
    (void)err;
    return OK;
}

static status reply_proto(ps *s, const net_peer *to, wire_head h, const ProtobufCMessage *m, error *err)
{
    buf packed = BUF_INIT;
    wire_pack(m, &packed);
    net_buffer payload = {.data = packed.data, .bytes = packed.size};
    status st = reply(s, to, h, &payload, err);
    buf_fini(&packed);
    return st;
}

static status refuse(ps *s, const net_peer *to, const wire_head *about, status code, const char *text,
                     error *err)
{
    s->refused++;
    Wire__Refused m = WIRE__REFUSED__INIT;
    m.status = code;
    m.text = (char *)(uintptr_t)text;
    wire_head h = {.type = WIRE_REFUSED, .part = about->part, .step = about->step, .node = about->node};
    LOG_D("REFUSE", "type=%s part=%d step=%lld: %s", wire_type_name(about->type), about->part,
          (long long)about->step, text);
    return reply_proto(s, to, h, &m.base, err);
}

/* --- hello and set-up --- */

static status welcome(ps *s, const net_peer *to, error *err)
{
    Wire__Welcome m = WIRE__WELCOME__INIT;
    m.life = s->life;
    m.ready = s->set_up;
    if (s->master_address)
        m.master_address = s->master_address;
    return reply_proto(s, to, (wire_head){.type = WIRE_WELCOME}, &m.base, err);
}

static status take_hello(ps *s, const net_message *m, const wire_head *h, const Wire__Hello *hello,
                         error *err)
{
    error why = ERROR_INIT;
    task who;
    status st = hello_check(hello, s->o->config, &who, &why);
    if (st != OK) {
        char name[TASK_NAME];
        LOG_W("REFUSED", "%s: %s", task_name((task){ROLE_PS, s->o->self.index}, name), why.text);
        return refuse(s, &m->from, h, st, why.text, err);
    }
    if (who.role == ROLE_MASTER) {
        s->master = m->from;
        s->has_master = true;
        if (hello->master_address[0]) {
            free(s->master_address);
            s->master_address = xstrdup(hello->master_address);
        }
    }
    return welcome(s, &m->from, err);
}

static void setup_clear(ps *s)
{
    cuts_destroy(&s->cuts);
    histograms_destroy(&s->histograms);
    table_destroy(&s->table);
    for (int32_t p = 0; s->pulls && p < s->declaration.flat->n_parts; p++)
        free(s->pulls[p].at);
    free(s->pulls);
    s->pulls = NULL;
    free(s->placement);
    s->placement = NULL;
    flat_destroy(&s->declaration.flat);
    s->set_up = false;
}

static status on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err);
static status on_voted(void *user, int32_t part, int64_t step, double square_sum, error *err);

/* The job dir here is the master's if its job.json has the master's token. */
static status find_dir(ps *s, const Wire__Setup *m, error *err)
{
    if (s->dir || s->spool)
        return OK;
    TRY(jobdir_open(s->o->job_dir, &s->dir, err));
    const char *token = jobdir_token(s->dir);
    if (token && strcmp(token, m->dir_token) == 0)
        return OK;
    jobdir_close(&s->dir);
    LOG_I("NO_JOB_DIR", "'%s' is not the master's here: shards go through the master", s->o->job_dir);
    return spool_create(&s->spool, err);
}

static status build_table(ps *s, const Wire__Setup *m, error *err)
{
    const config *c = s->o->config;
    checkpoint *restore = NULL;
    bool restores = m->restore_dir[0];
    if (restores && s->dir) {
        char *path = jobdir_file(s->dir, "%s", m->restore_dir);
        status st = checkpoint_open(path, true, &restore, err);
        free(path);
        TRYF(st, err, "restore step %lld", (long long)m->step);
    }
    table_options options = {
        .flat = s->declaration.flat,
        .placement = s->placement,
        .server = s->server,
        .steps = {.examples = s->declaration.examples_per_epoch,
                  .batch_size = m->batch_size,
                  .per_step = m->batches_per_step,
                  .drop_last = m->drop_last},
        .optim = s->optim,
        .schedule = schedule_settings(c, m->total_steps),
        .clip_value = config_has(c, "trainer.grad_clipping")
                          ? (float)config_f64(c, "trainer.grad_clipping")
                          : 0,
        .votes = config_has(c, "trainer.grad_norm"),
        .step = m->step,
        .seed = (uint64_t)config_int(c, "random_seed"),
        .restore = restore,
        .loads = restores && s->spool,
    };
    table_hooks hooks = {.applied = on_applied, .voted = on_voted, .user = s};
    status st = table_create(&options, &hooks, &s->table, err);
    checkpoint_close(&restore);
    return st;
}

static status set_up(ps *s, const Wire__Setup *m, error *err)
{
    if (!m->declaration || !m->servers || m->server >= m->servers || m->step < 0 ||
        m->batch_size <= 0 || m->batches_per_step <= 0)
        return FAIL(err, E_PROTOCOL, "SETUP: a field is out of range");
    TRY(find_dir(s, m, err));
    setup_clear(s);
    TRY(wire_declaration_read(m->declaration, &s->declaration, err));
    const flat *f = s->declaration.flat;
    s->server = (int32_t)m->server;
    s->n_servers = (int32_t)m->servers;
    s->placement = xcalloc((size_t)f->n_parts, sizeof *s->placement);
    placement_deal(f, s->n_servers, s->placement);
    s->pulls = xcalloc((size_t)f->n_parts, sizeof *s->pulls);
    s->optim = optim_settings(s->o->config);
    TRY(build_table(s, m, err));
    for (size_t i = 0; i < optim_slots(&s->optim); i++)
        s->slot_names[i] = optim_slot_name(&s->optim, i);
    TRY(cuts_create(
        &(cuts_options){
            .flat = f,
            .placement = s->placement,
            .server = s->server,
            .n_servers = s->n_servers,
            .slot_names = s->slot_names,
            .n_slots = optim_slots(&s->optim),
            .waker = s->waker,
        },
        &s->cuts, err));
    s->histograms = histograms_create(f, s->placement, s->server);
    return OK;
}

static status say_ready(ps *s, error *err)
{
    s->set_up = true;
    Wire__Ready ready = WIRE__READY__INIT;
    ready.step = table_newest(s->table);
    ready.bytes = table_bytes(s->table);
    ready.sees_job_dir = s->dir != NULL;
    LOG_I("READY", "server=%d/%d step=%lld bytes=%zu era=%u", s->server, s->n_servers,
          (long long)ready.step, table_bytes(s->table), s->identity.era);
    return reply_proto(s, &s->master, (wire_head){.type = WIRE_READY}, &ready.base, err);
}

/* Asks the master for the next vector of a part of ours; ready when there is none left. */
static status load_next(ps *s, error *err)
{
    while (s->load_part < s->declaration.flat->n_parts &&
           s->load_row >= table_rows(s->table, s->load_part)) {
        s->load_part++;
        s->load_row = 0;
    }
    if (s->load_part == s->declaration.flat->n_parts)
        return say_ready(s, err);
    return reply(s, &s->master,
                 (wire_head){.type = WIRE_LOAD, .part = s->load_part, .tag = s->load_row}, NULL, err);
}

static status take_loaded(ps *s, const net_message *m, const wire_head *h, error *err)
{
    if (s->set_up || h->part != s->load_part || h->tag != s->load_row)
        return OK;
    TRY(table_load(s->table, h->part, h->tag, net_payload_data(&m->payload),
                   net_payload_bytes(&m->payload) / sizeof(float), err));
    s->load_row++;
    return load_next(s, err);
}

static status take_setup(ps *s, const net_message *m, const wire_head *h, const Wire__Setup *setup,
                         error *err)
{
    if (s->set_up && h->era < s->identity.era)
        return refuse(s, &m->from, h, OK, "an older era", err);
    s->master = m->from;
    s->has_master = true;
    s->identity.job_id = h->job_id;
    s->identity.era = h->era;
    TRY(set_up(s, setup, err));
    s->load_part = 0;
    s->load_row = 0;
    return s->spool && setup->restore_dir[0] ? load_next(s, err) : say_ready(s, err);
}

/* --- pulls and pushes --- */

static void part_sent(void *data, void *hint)
{
    (void)data;
    block_drop(hint);
}

static status send_part(ps *s, const net_peer *to, int32_t part, int64_t version, block *held, error *err)
{
    net_buffer payload = {
        .data = held->data, .bytes = held->n * sizeof(float), .release = part_sent, .hint = held};
    return reply(s, to, (wire_head){.type = WIRE_PART, .part = part, .step = version}, &payload, err);
}

static void pull_wait(ps *s, const net_peer *from, int32_t part, int64_t version)
{
    pull_list *l = &s->pulls[part];
    for (size_t i = 0; i < l->n; i++)
        if (net_peer_equal(&l->at[i].peer, from)) {
            l->at[i].version = version;
            return;
        }
    if (l->n == WAITING_MAX)
        return;
    GROW(l->at, l->cap, l->n + 1);
    l->at[l->n++] = (waiting_pull){.peer = *from, .version = version, .since_us = clock_us()};
}

static status take_pull(ps *s, const net_message *m, const wire_head *h, error *err)
{
    if (!table_holds(s->table, h->part))
        return refuse(s, &m->from, h, E_PROTOCOL, "that part is not on this server", err);
    block *held = table_weights(s->table, h->part, h->step);
    if (held)
        return send_part(s, &m->from, h->part, h->step, held, err);
    int64_t newest = table_version(s->table, h->part);
    if (h->step > newest)
        pull_wait(s, &m->from, h->part, h->step);
    else
        return reply(s, &m->from, (wire_head){.type = WIRE_GONE, .part = h->part, .step = newest}, NULL,
                     err);
    return OK;
}

static status on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    ps *s = user;
    histograms_applied(s->histograms, s->table, part, version, grad);
    cuts_applied(s->cuts, s->table, part, version);
    pull_list *l = &s->pulls[part];
    for (size_t i = 0; i < l->n;) {
        block *held = l->at[i].version <= version ? table_weights(s->table, part, l->at[i].version) : NULL;
        if (!held) {
            i++;
            continue;
        }
        net_peer to = l->at[i].peer;
        int64_t wanted = l->at[i].version;
        l->at[i] = l->at[--l->n];
        TRY(send_part(s, &to, part, wanted, held, err));
    }
    return OK;
}

static status on_voted(void *user, int32_t part, int64_t step, double square_sum, error *err)
{
    ps *s = user;
    Wire__Norm m = WIRE__NORM__INIT;
    m.square_sum = square_sum;
    return reply_proto(s, &s->master, (wire_head){.type = WIRE_NORM, .part = part, .step = step},
                       &m.base, err);
}

/* A received payload in a fold's clothes. */
typedef struct push_block {
    fold_block fold;
    net_payload payload;
} push_block;

static void push_release(fold_block *b)
{
    push_block *p = b->owner;
    net_payload_close(&p->payload);
    free(p);
}

static status take_push(ps *s, net_message *m, const wire_head *h, error *err)
{
    push_block *p = xmalloc(sizeof *p);
    net_payload_move(&p->payload, &m->payload);
    p->fold = (fold_block){
        .data = (float *)(uintptr_t)net_payload_data(&p->payload),
        .n = net_payload_bytes(&p->payload) / sizeof(float),
        .writable = !(h->flags & WIRE_LENT),
        .release = push_release,
        .owner = p,
    };
    push_result result;
    error wrong = ERROR_INIT;
    status st = table_push(s->table, h->part, h->step, h->slots, h->node, &p->fold, &result, &wrong);
    if (st != OK)
        return FAIL(err, st, "%s", wrong.text);
    if (result == PUSH_WRONG)
        return refuse(s, &m->from, h, E_PROTOCOL, wrong.text, err);
    return reply(s, &m->from,
                 (wire_head){.type = WIRE_PUSHED, .part = h->part, .step = h->step, .node = h->node},
                 NULL, err);
}

/* --- cuts and histograms --- */

static status take_cut(ps *s, const wire_head *h, const Wire__Cut *m, error *err)
{
    char *dir = s->dir ? jobdir_file(s->dir, "%s", m->dir) : spool_dir(s->spool, m->id);
    bool late = false;
    status st = fs_mkdirs(dir, err);
    if (st == OK)
        cuts_announce(s->cuts, s->table, m->id, h->step, dir, &late);
    free(dir);
    if (st != OK || !late)
        return st;
    Wire__CutLate answer = WIRE__CUT_LATE__INIT;
    answer.id = m->id;
    answer.newest = table_newest(s->table);
    return reply_proto(s, &s->master, (wire_head){.type = WIRE_CUT_LATE, .step = h->step}, &answer.base,
                       err);
}

static status send_cut_results(ps *s, error *err)
{
    cut_result r;
    while (s->cuts && cuts_next_result(s->cuts, &r)) {
        if (r.status != OK)
            return FAIL(err, r.status, "write a checkpoint: %s", r.error.text);
        Wire__CutDone m = WIRE__CUT_DONE__INIT;
        m.id = r.id;
        m.file = r.file;
        m.bytes = r.bytes;
        m.sha256 = r.sha256;
        m.batches_applied = r.batches;
        m.spooled = s->spool != NULL;
        if (s->spool)
            spool_add(s->spool, r.id, r.file);
        TRY(reply_proto(s, &s->master, (wire_head){.type = WIRE_CUT_DONE, .step = r.version},
                        &m.base, err));
    }
    return OK;
}

/* The next piece of a shard the master fetches. */
static status take_shard(ps *s, const net_message *from, const wire_head *h, const Wire__Shard *m, error *err)
{
    buf piece = BUF_INIT;
    error wrong = ERROR_INIT;
    status st = s->spool ? spool_read(s->spool, m->id, m->offset, &piece, &wrong)
                         : FAIL(&wrong, E_PROTOCOL, "shards of this server lie in the job dir");
    if (st != OK)
        return refuse(s, &from->from, h, st, wrong.text, err);
    Wire__Shard answer = WIRE__SHARD__INIT;
    answer.id = m->id;
    answer.offset = m->offset;
    answer.data.data = (uint8_t *)piece.data;
    answer.data.len = piece.size;
    st = reply_proto(s, &from->from, (wire_head){.type = WIRE_SHARD, .step = h->step}, &answer.base, err);
    buf_fini(&piece);
    return st;
}

static status send_histograms(ps *s, error *err)
{
    buf packed = BUF_INIT;
    int64_t version;
    status st = OK;
    while (st == OK && s->histograms && histograms_next(s->histograms, &version, &packed)) {
        net_buffer payload = {.data = packed.data, .bytes = packed.size};
        st = reply(s, &s->master, (wire_head){.type = WIRE_HISTOGRAM, .step = version}, &payload, err);
    }
    buf_fini(&packed);
    return st;
}

/* --- dispatch --- */

static status take_stop(ps *s, const Wire__Stop *m)
{
    s->stopped = true;
    s->outcome = m->status < STATUS_COUNT ? (status)m->status : E_FAIL;
    if (s->outcome != OK)
        error_set(s->err, s->outcome, "stopped by the master: %s", m->text);
    return OK;
}

static status take_proto(ps *s, const net_message *m, const wire_head *h, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(h->type, net_payload_data(&m->payload), net_payload_bytes(&m->payload), &message,
                    NULL) != OK) {
        s->refused++;
        return OK;
    }
    status st = OK;
    switch (h->type) {
    case WIRE_HELLO:
        st = take_hello(s, m, h, (const Wire__Hello *)message, err);
        break;
    case WIRE_SETUP:
        st = take_setup(s, m, h, (const Wire__Setup *)message, err);
        break;
    case WIRE_CUT:
        st = take_cut(s, h, (const Wire__Cut *)message, err);
        break;
    case WIRE_SHARD:
        st = take_shard(s, m, h, (const Wire__Shard *)message, err);
        break;
    case WIRE_VERDICT:
        st = table_verdict(s->table, h->step, ((const Wire__Verdict *)message)->scale, err);
        break;
    case WIRE_HISTOGRAM:
        histograms_order(s->histograms, h->step);
        break;
    case WIRE_STOP:
        st = take_stop(s, (const Wire__Stop *)message);
        break;
    default:
        break;
    }
    wire_free(message);
    return st;
}

static bool from_master(const ps *s, const net_message *m)
{
    return s->has_master && net_peer_equal(&s->master, &m->from);
}

/* Who may say this here, and is it of our job and era? */
static bool is_expected(const ps *s, const net_message *m, const wire_head *h)
{
    bool master = from_master(s, m);
    if (h->type == WIRE_HELLO || h->type == WIRE_HEARTBEAT)
        return true;
    if (h->type == WIRE_SETUP)
        return master;
    if (h->type == WIRE_LOADED)
        return master && s->table && h->era == s->identity.era;
    if (!s->set_up || h->job_id != s->identity.job_id)
        return h->type == WIRE_STOP && master;
    return wire_may_say(h->type, master ? ROLE_MASTER : ROLE_WORKER, ROLE_PS);
}

static status take(ps *s, net_message *m, error *err)
{
    wire_head h;
    if (wire_head_decode(m->head, net_payload_bytes(&m->payload), &h, NULL) != OK ||
        !is_expected(s, m, &h)) {
        s->refused++;
        return OK;
    }
    if (from_master(s, m))
        s->master_heard_us = clock_us();
    if (h.type == WIRE_HEARTBEAT)
        return reply(s, &m->from, (wire_head){.type = WIRE_ALIVE}, NULL, err);
    if ((h.type == WIRE_PUSH || h.type == WIRE_PULL) && h.era != s->identity.era)
        return refuse(s, &m->from, &h, OK, "another era", err);
    if (h.type == WIRE_LOADED)
        return take_loaded(s, m, &h, err);
    if (h.type == WIRE_PUSH)
        return take_push(s, m, &h, err);
    if (h.type == WIRE_PULL)
        return h.part < s->declaration.flat->n_parts
                   ? take_pull(s, m, &h, err)
                   : refuse(s, &m->from, &h, E_PROTOCOL, "no such part", err);
    return take_proto(s, m, &h, err);
}

/* A wait always speaks: pulls that wait longer than wait_warning, and for which slots. */
static void warn_of_waits(ps *s, int64_t now)
{
    int64_t limit = (int64_t)(config_f64(s->o->config, "distributed.wait_warning") * 1e6);
    if (!s->set_up || now < s->warned_us)
        return;
    for (int32_t p = 0; p < s->declaration.flat->n_live_parts; p++) {
        const pull_list *l = &s->pulls[p];
        if (!l->n || now - l->at[0].since_us < limit)
            continue;
        char missing[128];
        table_missing(s->table, p, missing, sizeof missing);
        LOG_W("WAIT", "part=%d version=%lld waits for slots=%s of step=%lld since=%.1fs pulls=%zu", p,
              (long long)l->at[0].version, missing, (long long)table_version(s->table, p),
              (double)(now - l->at[0].since_us) * 1e-6, l->n);
        s->warned_us = now + 2 * (now - l->at[0].since_us);
        return;
    }
    s->warned_us = now + limit / 2;
}

/* SIGTERM: the master cuts a checkpoint and tells all to stop; we do not wait for it for ever. */
static status ask_to_leave(ps *s, int64_t now, error *err)
{
    if (!s->o->stop || !atomic_load(s->o->stop))
        return OK;
    if (!s->stop_us)
        s->stop_us = now;
    if (s->has_master && !s->preempt_said) {
        s->preempt_said = true;
        TRY(reply(s, &s->master, (wire_head){.type = WIRE_PREEMPT}, NULL, err));
    }
    double waited = (double)(now - s->stop_us) * 1e-6;
    if (waited < config_f64(s->o->config, "distributed.preempt_grace"))
        return OK;
    return FAIL(err, E_PREEMPTED, "preempted; the master did not stop the job within %.0f s", waited);
}

static status tick(ps *s, error *err)
{
    int64_t now = clock_us();
    warn_of_waits(s, now);
    TRY(ask_to_leave(s, now, err));
    double silent_s = (double)(now - s->master_heard_us) * 1e-6;
    double limit = config_f64(s->o->config, s->set_up ? "distributed.lost_timeout"
                                                      : "distributed.start_timeout");
    if (silent_s > limit)
        return FAIL(err, E_LOST, "no word from the master for %.0f s", silent_s);
    return OK;
}

static status loop(ps *s, error *err)
{
    s->master_heard_us = clock_us();
    while (!s->stopped) {
        if (s->o->abort && atomic_load(s->o->abort))
            return FAIL(err, E_ABORTED, "another role of this process failed");
        TRY(net_poll(&s->socket, 1, s->waker, TICK_MS, err));
        net_event event;
        while (net_next_event(s->socket, &event))
            ;
        net_message m;
        for (int i = 0; i < 64 && !s->stopped && net_receive(s->socket, &m); i++) {
            status st = take(s, &m, err);
            net_payload_close(&m.payload);
            TRY(st);
        }
        TRY(send_cut_results(s, err));
        TRY(send_histograms(s, err));
        TRY(tick(s, err));
    }
    return s->outcome;
}

/* The master must hear why we leave. */
static void say_failed(ps *s, status st, const error *why)
{
    if (!s->has_master || s->stopped)
        return;
    char name[TASK_NAME];
    Wire__Stop m = WIRE__STOP__INIT;
    m.status = st;
    m.text = (char *)(uintptr_t)why->text;
    m.task = (char *)(uintptr_t)task_name(s->o->self, name);
    (void)reply_proto(s, &s->master, (wire_head){.type = WIRE_FAILED}, &m.base, NULL);
}

status ps_run(const ps_options *options, error *err)
{
    error mine = ERROR_INIT;
    ps s = {.o = options, .life = hello_life(), .err = err ? err : &mine};
    status st = net_waker_create(&s.waker, s.err);
    if (st == OK)
        st = net_listen(options->net, options->endpoints, options->n_endpoints, options->listen_fd,
                        &s.socket, s.err);
    if (st == OK) {
        LOG_D("LISTEN", "endpoint=%s", net_endpoint(s.socket));
        st = loop(&s, s.err);
        if (st != OK)
            say_failed(&s, st, s.err);
    }
    net_close(&s.socket, 1000);
    setup_clear(&s);
    jobdir_close(&s.dir);
    spool_destroy(&s.spool);
    free(s.master_address);
    net_waker_destroy(&s.waker);
    return st;
}
