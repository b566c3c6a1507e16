/*
 * The worker's loop: the dial to the master, and what follows from its words.
 */
#include "worker/state.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/live/counters.h"
#include "common/live/pulse.h"
#include "common/live/trace.h"
#include "common/store/jobend.h"
#include "common/wire/trace_wire.h"
#include "worker/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status worker_declare(worker *w, const char *dir_token, error *err)
{
    Wire__Declaration m;
    const steps_kinds kinds = variants_kinds(&w->variants);
    wire_declaration_fill(w->variants.flat, dataset_examples(w->variants.data), &kinds, &m);
    const char *vocabulary = dataset_vocabulary(w->variants.data);
    if (vocabulary)
        m.vocabulary = (char *)(uintptr_t)vocabulary;
    m.training_metrics = (ProtobufCBinaryData){.len = w->variants.recipe.size,
                                               .data = (uint8_t *)w->variants.recipe.data};
    m.sees_job_dir = jobend_sees(w->o->job_dir, dir_token);
    status st = master_link_say(&w->master, (wire_head){.type = WIRE_DECLARE}, &m.base, err);
    wire_declaration_clear(&m);
    return st;
}

/* --- from the master --- */

static status worker_take_welcome(worker *w, const wire_head *h, const Wire__Welcome *m, error *err)
{
    w->master.identity.job_id = h->job_id; /* the era comes with the view that begins it */
    w->master.identity.incarnation = m->incarnation;
    w->master.welcomed = true;
    if (m->declare)
        TRY(worker_declare(w, m->dir_token, err));
    bool is_current = w->has_view && h->era == w->master.identity.era;
    return is_current ? reports_say_all(w->reports, master_link_report, &w->master, err) : OK;
}

static status begin_era(worker *w, const wire_head *h, const Wire__View *m, error *err)
{
    steps s = {.examples = m->examples_per_epoch,
               .batch_size = m->batch_size,
               .per_step = (int64_t)m->n_slots,
               .drop_last = m->drop_last,
               .kinds = variants_kinds(&w->variants),
               .seed = (uint64_t)config_int(w->o->config, "random_seed"),
               .shuffle = config_bool(w->o->config, "data_loader.shuffle")};
    w->master.identity.era = h->era;
    w->has_view = true;
    w->waits.progress_us = clock_us();
    LOG_I("BEGIN", "step=%lld era=%u slots=%zu lanes=%d", (long long)m->start_step, h->era,
          m->n_slots, w->o->n_lanes);
    pulse_rest(ROLE_WORKER); /* lanes build their engines */
    return w->mode->begin(w, m, &s, err);
}

static status worker_take_view(worker *w, const wire_head *h, const Wire__View *m, error *err)
{
    if (m->n_acting && m->n_acting != (size_t)w->o->n_servers)
        return FAIL(err, E_PROTOCOL, "VIEW: %zu shards of %d servers", m->n_acting,
                    w->o->n_servers);
    for (size_t i = 0; i < m->n_acting; i++)
        if (m->acting[i] >= (uint32_t)w->o->n_servers)
            return FAIL(err, E_PROTOCOL, "VIEW: shard %zu has no server", i);
    lane_share share;
    share_reader self = {w->o->trainer, w->o->self.index, w->o->n_lanes};
    TRY(share_read(m, &self, &share, err));
    status st = OK;
    w->view_id = m->id;
    if (!w->has_view || h->era != w->master.identity.era)
        st = begin_era(w, h, m, err);
    if (st == OK && w->mode->view)
        st = w->mode->view(w, &share, m->limit, err);
    share_free(&share);
    return st;
}

void worker_take_stop(worker *w, const Wire__Stop *m)
{
    if (m->status == OK && !w->has_view)
        LOG_I("OVER", "the master says that the job is over%s%s", m->text[0] ? ": " : "", m->text);
    w->ending.stopped = true;
    w->ending.outcome = m->status < STATUS_COUNT ? (status)m->status : E_FAIL;
    if (w->ending.outcome != OK)
        error_set(w->ending.err, w->ending.outcome, "stopped by the master: %s", m->text);
}

status worker_take_refused(worker *w, const Wire__Refused *m, error *err)
{
    if (m->status == OK || m->status >= STATUS_COUNT)
        return OK;
    w->master.refuses_us = true;
    return FAIL(err, (status)m->status, "refused by the master: %s", m->text);
}

static status say_trace(worker *w, const Wire__Trace *asked, error *err)
{
    Wire__Trace m;
    trace_wire_fill(asked, ROLE_WORKER, &m);
    status st = master_link_say(&w->master, (wire_head){.type = WIRE_TRACE}, &m.base, err);
    trace_wire_clear(&m);
    return st;
}

static status take_proto(worker *w, const net_message *m, const wire_head *h, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(h->type, span_data(m->payload), span_bytes(m->payload),
                    &message, NULL) != OK)
        return OK;
    status st = OK;
    switch (h->type) {
    case WIRE_WELCOME:
        st = worker_take_welcome(w, h, (const Wire__Welcome *)message, err);
        break;
    case WIRE_VIEW:
        st = worker_take_view(w, h, (const Wire__View *)message, err);
        break;
    case WIRE_REFUSED:
        st = worker_take_refused(w, (const Wire__Refused *)message, err);
        break;
    case WIRE_STOP:
        worker_take_stop(w, (const Wire__Stop *)message);
        break;
    case WIRE_TRACE:
        st = say_trace(w, (const Wire__Trace *)message, err);
        break;
    default:
        break;
    }
    wire_free(message);
    return st;
}

static status take_limit(worker *w, int64_t limit, error *err)
{
    return w->has_view && w->mode->limit ? w->mode->limit(w, limit, err) : OK;
}

static status take_lease(worker *w, const wire_head *h, error *err)
{
    bool is_current = w->has_view && h->era == w->master.identity.era;
    return is_current && w->mode->lease ? w->mode->lease(w, h, err) : OK;
}

static status take_reported(worker *w, const wire_head *h, error *err)
{
    bool is_current = w->has_view && h->era == w->master.identity.era;
    return is_current && w->mode->recorded ? w->mode->recorded(w, h, err) : OK;
}

/* What the master last announced: a view or limit that did not arrive is asked for. */
static status take_alive(worker *w, const net_message *m, const wire_head *h, error *err)
{
    uint64_t view = wire_alive_view(h);
    master_link_take_alive(&w->master, m);
    recorder_take_request(&w->waits.asked, wire_alive_asked(h));
    if (view && (h->era != w->master.identity.era || view != w->view_id))
        return master_link_say_hello(&w->master, err);
    return take_limit(w, wire_alive_limit(h), err);
}

static status worker_take(worker *w, const net_message *m, error *err)
{
    wire_head h;
    if (wire_head_decode(m->head, span_bytes(m->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_MASTER, ROLE_WORKER))
        return OK;
    bool hello_phase = h.type == WIRE_WELCOME || h.type == WIRE_REFUSED || h.type == WIRE_STOP;
    bool of_our_job = h.job_id == w->master.identity.job_id;
    if (!hello_phase && (!w->master.welcomed || !of_our_job))
        return OK;
    if (of_our_job && h.era < w->master.identity.era)
        return OK;                  /* a newer master leads the job */
    w->master.heard_us = clock_us();
    w->master.hangs = false;
    if (h.type == WIRE_ALIVE)
        return take_alive(w, m, &h, err);
    if (h.type == WIRE_REPORTED)
        return take_reported(w, &h, err);
    if (h.type == WIRE_LIMIT)
        return take_limit(w, wire_limit(&h), err);
    if (h.type == WIRE_LEASE)
        return take_lease(w, &h, err);
    return take_proto(w, m, &h, err);
}

static status receive_master(worker *w, error *err)
{
    net_message m;
    while (w->master.socket && !w->ending.stopped && net_receive(w->master.socket, &m)) {
        status st = worker_take(w, &m, err);
        span_drop(m.payload);
        TRY(st);
    }
    return OK;
}

static status serve_master(worker *w, error *err)
{
    net_event event;
    while (w->master.socket && !w->ending.stopped && net_next_event(w->master.socket, &event)) {
        w->master.refused = event.why;
        w->master.is_up = event.kind == NET_UP;
        if (event.kind == NET_UP) {
            TRY(master_link_say_hello(&w->master, err));
            continue;
        }
        /* what came before the loss counts: it may be the STOP */
        TRY(receive_master(w, err));
        if (!w->ending.stopped)
            TRY(master_link_dial(&w->master, w->master.endpoint, err));
    }
    return receive_master(w, err);
}

/* --- time --- */

/* SIGTERM: the master cuts a checkpoint and tells all to stop; we do not wait for it for ever, nor
 * for one that we never met. */
static status ask_to_leave(worker *w, int64_t now, error *err)
{
    if (!w->o->stop || !atomic_load(w->o->stop))
        return OK;
    if (!w->master.identity.job_id)
        return FAIL(err, E_PREEMPTED, "preempted before it met the master");
    if (!w->ending.stop_us)
        w->ending.stop_us = now;
    if (w->master.welcomed && now - w->ending.preempt_us > SECOND_US) {
        w->ending.preempt_us = now;
        TRY(master_link_say(&w->master, (wire_head){.type = WIRE_PREEMPT}, NULL, err));
    }
    double waited = (double)(now - w->ending.stop_us) / SECOND_US;
    if (waited < config_f64(w->o->config, "distributed.preempt_grace"))
        return OK;
    return FAIL(err, E_PREEMPTED, "preempted; the master did not stop the job within %.0f s",
                waited);
}

/* Without a view HELLO stands for the heartbeat: what was declared may be lost as well. */
static status worker_say_alive(worker *w, error *err)
{
    if (!w->master.socket)
        return OK;
    if (!w->master.welcomed || !w->has_view)
        return master_link_say_hello(&w->master, err);
    wire_head h = {.type = WIRE_HEARTBEAT};
    wire_set_heartbeat_held(&h, w->mode->held(w));
    wire_set_heartbeat_computing(&h, w->mode->computing(w));
    return master_link_say_alive(&w->master, h, err);
}

static status say_delivered(worker *w, bool again, error *err)
{
    bool is_heard = w->has_view && w->master.welcomed;
    return is_heard && w->mode->say_delivered ? w->mode->say_delivered(w, again, err) : OK;
}

static void show_life(const worker *w, int64_t now)
{
    int64_t held = w->has_view ? w->mode->held(w) : -1;
    pulse_turn(ROLE_WORKER, now);
    pulse_set_ready(ROLE_WORKER, held >= 0);
    counter_set(COUNTER_WORKER_VERSION, held);
}

static status worker_tick(worker *w, error *err)
{
    int64_t now = clock_us();
    if (now - w->waits.looked_us >= TICK_MS * 1000) {
        w->waits.looked_us = now;         /* not at every message of a step */
        show_life(w, now);
        worker_warn_of_waits(w, now);
    }
    TRY(ask_to_leave(w, now, err));
    TRY(worker_say_status(w, now, err));
    if (now - w->tick_us < SECOND_US)
        return OK;
    w->tick_us = now;
    TRY(w->mode->tick(w, err));
    TRY(worker_say_alive(w, err));
    TRY(say_delivered(w, true, err));
    worker_tell_hung(w);
    TRY(worker_look_for_end(w, err));
    if (worker_master_is_silent(w))
        TRY(kv_greet(w->mode->kv(w), err)); /* the servers may know another one */
    return worker_check_lost(w, err);
}

static status worker_turn(worker *w, net_socket **sockets, size_t n, error *err)
{
    if (w->o->abort && atomic_load(w->o->abort))
        return FAIL(err, E_ABORTED, "another role of this process failed");
    net_socket *const *servers = w->mode->sockets(w);
    memcpy(sockets, servers, n * sizeof *sockets);
    sockets[n] = w->master.socket;
    TRY(worker_settle_stores(w, err));
    TRY(net_poll(sockets, n + 1, w->waker, TICK_MS, err));
    TRY(serve_master(w, err));
    TRY(w->mode->serve(w, err));
    TRY(say_delivered(w, false, err));
    return worker_tick(w, err);
}

static status loop(worker *w, error *err)
{
    size_t n = (size_t)w->o->n_servers * (size_t)w->lanes.n_shared;
    net_socket **sockets = xcalloc(n + 1, sizeof *sockets);
    w->master.heard_us = w->waits.progress_us = clock_us();
    status st = OK;
    while (st == OK && !w->ending.stopped && w->ending.outcome == OK)
        st = worker_turn(w, sockets, n, err);
    free(sockets);
    return st == OK ? w->ending.outcome : st;
}

/* --- life --- */

/* A connection for the last word. A master that was never met may only be about to come. */
static bool reach_master(worker *w)
{
    if (w->master.socket && w->master.identity.job_id)
        return true;
    int64_t until = clock_us() + REACH_US;
    if (!w->master.socket && (!w->o->master || master_link_dial(&w->master, w->o->master, NULL) != OK))
        return false;
    master_link *l = &w->master;
    while (!l->is_up && clock_us() < until && net_poll(&l->socket, 1, NULL, TICK_MS, NULL) == OK) {
        net_event event;
        while (net_next_event(l->socket, &event))
            l->is_up = event.kind == NET_UP;
    }
    return l->is_up;
}

/* The master must hear why we leave, even when we never got as far as its view; not of us if it sent us
 * away, or another role of this process is the cause. */
static void say_failed(worker *w, status st, const error *why)
{
    bool is_missed = (st != E_PREEMPTED && st != E_LOST) || w->master.identity.job_id; /* by a master */
    if (w->ending.stopped || w->master.refuses_us || st == E_ABORTED || !is_missed || !reach_master(w))
        return;
    Wire__Stop m = WIRE__STOP__INIT;
    m.status = st;
    m.text = (char *)(uintptr_t)why->text;
    m.task = w->name;
    if (master_link_say(&w->master, (wire_head){.type = WIRE_FAILED}, &m.base, NULL) != OK)
        LOG_D("SEND", "type=FAILED");
}

/* What a worker reads is its share of the records, wherever they lie. */
static void log_bytes_read(const worker *w)
{
    int64_t bytes = w->variants.data ? dataset_bytes_read(w->variants.data) : 0;
    if (bytes > 0)
        LOG_I("RECORDS_READ", "bytes=%lld", (long long)bytes);
}

/* Lanes beside the master are no worker of the cluster's. */
static void name_in_trace(const worker_options *o)
{
    char name[TASK_NAME], whole[TASK_NAME + 8];
    task_name((task){o->trainer ? ROLE_MASTER : ROLE_WORKER, o->self.index}, name);
    snprintf(whole, sizeof whole, "%s%s", name, o->trainer ? " lanes" : "");
    trace_task(ROLE_WORKER, whole);
}

status worker_run(const worker_options *options, error *err)
{
    error mine = ERROR_INIT;
    worker w = {
        .o = options,
        .master = {.net = options->net},
        .waits = {.seen_step = -2},
        .ending = {.err = err ? err : &mine},
    };
    task_name(options->self, w.name);
    name_in_trace(options);
    status st = worker_build(&w, w.ending.err);
    if (st != OK && w.ending.stopped)
        st = w.ending.outcome; /* the master said so while data were read */
    else if (st == OK)
        st = loop(&w, w.ending.err);
    pulse_rest(ROLE_WORKER);
    if (st != OK)
        say_failed(&w, st, w.ending.err);
    log_bytes_read(&w);
    worker_unbuild(&w);
    return st;
}
