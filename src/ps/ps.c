/*
 * The server's loop: one socket, one thread. Every message is decoded, checked against the grammar,
 * the job and the era, and handled at once.
 */
#include "ps/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "common/live/clock_offset.h"
#include "common/live/counters.h"
#include "common/live/pulse.h"
#include "common/live/trace.h"
#include "common/store/jobend.h"
#include "common/wire/hello.h"
#include "common/wire/trace_wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static status ps_take_stop(ps *s, const Wire__Stop *m)
{
    if (m->status == OK && !s->set_up)
        LOG_I("OVER", "the master says that the job is over%s%s", m->text[0] ? ": " : "", m->text);
    s->ending.stopped = true;
    s->ending.outcome = m->status < STATUS_COUNT ? (status)m->status : E_FAIL;
    if (s->ending.outcome != OK)
        error_set(s->ending.err, s->ending.outcome, "stopped by the master: %s", m->text);
    return OK;
}

static status take_verdict(ps *s, const wire_head *h, const Wire__Verdict *m, error *err)
{
    verdict v = {.scale = m->scale, .skip = m->skip, .reductions = m->reductions};
    part_times_verdict(&s->times, clock_us());
    return table_verdict(s->table, h->step, v, err);
}

static bool from_master(const ps *s, const net_message *m)
{
    return s->chief.is_known && net_peer_equal(&s->chief.peer, &m->from);
}

static void ps_say_trace(ps *s, const Wire__Trace *asked)
{
    Wire__Trace m;
    trace_wire_fill(asked, ROLE_PS, &m);
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_TRACE}, &m.base);
    trace_wire_clear(&m);
}

static status ps_take_proto(ps *s, const net_message *m, const wire_head *h, error *err)
{
    ProtobufCMessage *message = NULL;
    if (wire_unpack(h->type, span_data(m->payload), span_bytes(m->payload), &message, NULL) != OK) {
        s->refused++;
        return OK;
    }
    status st = OK;
    switch (h->type) {
    case WIRE_HELLO:
        ps_take_hello(s, m, h, (const Wire__Hello *)message);
        break;
    case WIRE_SETUP:
        st = ps_take_setup(s, m, h, (const Wire__Setup *)message, err);
        break;
    case WIRE_REPORT:
        st = h->era == s->era.identity.era ? ps_take_report(s, h, (const Wire__Report *)message, err) : OK;
        break;
    case WIRE_CUT:
        ps_take_cut(s, h, (const Wire__Cut *)message);
        break;
    case WIRE_SHARD:
        ps_take_shard(s, m, h, (const Wire__Shard *)message);
        break;
    case WIRE_VERDICT:
        st = take_verdict(s, h, (const Wire__Verdict *)message, err);
        break;
    case WIRE_HISTOGRAM:
        histograms_order(s->histograms, s->table, wire_histogram_version(h));
        break;
    case WIRE_TRACE:
        if (from_master(s, m))
            ps_say_trace(s, (const Wire__Trace *)message);
        break;
    case WIRE_STOP:
        st = ps_take_stop(s, (const Wire__Stop *)message);
        break;
    default:
        break;
    }
    wire_free(message);
    return st;
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
        return master && s->table && h->era == s->era.identity.era;
    if (!s->set_up || h->job_id != s->era.identity.job_id)
        return h->type == WIRE_STOP && master;
    if (master && h->type != WIRE_STOP && h->era != s->era.identity.era)
        return false;
    role who = master ? ROLE_MASTER : ps_is_peer(s, &m->from) ? ROLE_PS : ROLE_WORKER;
    return wire_may_say(h->type, who, ROLE_PS);
}

/* What a HEARTBEAT tells of the master's clock; to it goes what ours says. */
static void take_clocks(const ps *s, const net_message *m, Wire__Alive *ret)
{
    ProtobufCMessage *p = NULL;
    if (!from_master(s, m) ||
        wire_unpack(WIRE_HEARTBEAT, span_data(m->payload), span_bytes(m->payload), &p, NULL) != OK)
        return;
    const Wire__Heartbeat *h = (const Wire__Heartbeat *)p;
    ret->asked_us = h->clock_us;
    ret->clock_us = clock_us();
    clock_estimate e = {.offset_us = h->offset_us, .error_us = h->error_us, .at_us = ret->clock_us};
    clock_master_learn(&e);
    wire_free(p);
}

/* Whoever says so of our job, and is not the master for us, may be it: the hello of a connection that
 * was lost is sometimes read after the next one's, and then we answer into the void. */
static void ps_say_alive(ps *s, const net_message *m, const wire_head *h)
{
    bool may_be = !s->era.identity.job_id || (h->job_id == s->era.identity.job_id && !ps_is_over(s, h));
    wire_head alive = {.type = WIRE_ALIVE};
    wire_set_alive_view(&alive, may_be && !from_master(s, m) ? WIRE_NO_VIEW : 0);
    Wire__Alive clocks = WIRE__ALIVE__INIT;
    take_clocks(s, m, &clocks);
    ps_reply_proto(s, &m->from, alive, &clocks.base);
}

/* A master that a newer one has replaced, and does not know it yet. */
static void refuse_over(ps *s, const net_message *m, const wire_head *h)
{
    if (ps_is_over(s, h) && wire_may_say(h->type, ROLE_MASTER, ROLE_PS))
        ps_refuse(s, &m->from, h, E_LOST, "that era is over");
}

static status ps_take(ps *s, net_message *m, error *err)
{
    wire_head h;
    if (wire_head_decode(m->head, span_bytes(m->payload), &h, NULL) != OK) {
        s->refused++;
        return OK;
    }
    if (!is_expected(s, m, &h)) {
        refuse_over(s, m, &h);
        s->refused++;
        return OK;
    }
    if (from_master(s, m))
        s->chief.heard_us = clock_us();
    if (h.type == WIRE_HEARTBEAT) {
        if (from_master(s, m))
            recorder_take_request(&s->waits.asked, wire_heartbeat_asked(&h));
        ps_say_alive(s, m, &h);
        return OK;
    }
    bool is_of_parts = h.type == WIRE_PUSH || h.type == WIRE_PULL || h.type == WIRE_STATE;
    if (is_of_parts && h.era != s->era.identity.era) {
        ps_refuse(s, &m->from, &h, OK, "another era");
        return OK;
    }
    if (h.type == WIRE_LOADED)
        return ps_take_loaded(s, m, &h, err);
    s->waits.pushes += h.type == WIRE_PUSH;
    if (h.type == WIRE_PUSH)
        return ps_take_push(s, m, &h, err);
    if (h.type == WIRE_STATE)
        return ps_take_state(s, m, &h, err);
    if (h.type == WIRE_REPORTED)
        return ps_take_reported(s, &h, err);
    if (h.type != WIRE_PULL)
        return ps_take_proto(s, m, &h, err);
    ps_take_pull(s, m, &h);
    return OK;
}

/* SIGTERM: the master cuts a checkpoint and tells all to stop; we do not wait for it for ever, and while
 * there is none we hold nothing. */
static status ps_ask_to_leave(ps *s, int64_t now, error *err)
{
    if (!s->o->stop || !atomic_load(s->o->stop))
        return OK;
    if (!s->chief.is_known)
        return FAIL(err, E_PREEMPTED, "preempted before it met the master");
    if (!s->ending.stop_us)
        s->ending.stop_us = now;
    if (now - s->ending.preempt_us > SAY_AGAIN_US) {
        s->ending.preempt_us = now;
        ps_reply(s, &s->chief.peer, (wire_head){.type = WIRE_PREEMPT}, NULL);
    }
    double waited = (double)(now - s->ending.stop_us) * 1e-6;
    if (waited < config_f64(s->o->config, "distributed.preempt_grace"))
        return OK;
    return FAIL(err, E_PREEMPTED, "preempted; the master did not stop the job within %.0f s",
                waited);
}

/* As a worker does (look_for_end). */
static status look_for_end(ps *s, int64_t now, double silent_s, error *err)
{
    bool is_over = false;
    bool may_look = !s->o->starts_over || s->era.identity.job_id;
    if (!may_look || now - s->ending.looked_us < SAY_AGAIN_US ||
        silent_s < config_f64(s->o->config, "distributed.heartbeat_timeout"))
        return OK;
    s->ending.looked_us = now;
    jobend_seeker who = {.job_dir = s->o->job_dir,
                         .config = s->o->config,
                         .job_id = s->era.identity.job_id,
                         .start = s->era.identity.era >> 16};
    TRY(jobend_look(&who, &is_over, err));
    s->ending.stopped |= is_over;
    return OK;
}

static void show_life(ps *s, int64_t now)
{
    int64_t n = 0;
    pulse_turn(ROLE_PS, now);
    pulse_set_ready(ROLE_PS, s->set_up);
    if (!s->set_up || now - s->counted_us < COUNT_US)
        return;
    s->counted_us = now;
    for (int32_t p = 0; p < s->plan.declaration.flat->n_parts; p++)
        n += table_holds(s->table, p);
    counter_set(COUNTER_PS_PARTS, n);
    counter_set(COUNTER_PS_BYTES, (int64_t)table_bytes(s->table));
    counter_set(COUNTER_PS_VERSION, table_newest(s->table));
}

static status ps_tick(ps *s, error *err)
{
    int64_t now = clock_us();
    if (now < s->tick_us)
        return OK;
    s->tick_us = now + TICK_MS * 1000 / 2;
    show_life(s, now);
    ps_warn_of_waits(s, now);
    ps_say_status(s, now);
    TRY(ps_ask_to_leave(s, now, err));
    if (s->chief.differs_us && now - s->chief.differs_us > DIFFERS_US)
        return FAIL(err, s->chief.differs.code, "%s", s->chief.differs.text);
    if (s->set_up && now - s->said_us > SAY_AGAIN_US) {
        s->said_us = now;
        table_say_votes(s->table);
    }
    if (s->standbys.replicator)
        replicator_tick(s->standbys.replicator, now);
    double silent_s = (double)(now - s->chief.heard_us) * 1e-6;
    TRY(look_for_end(s, now, silent_s, err));
    double limit = config_f64(s->o->config,
                              s->set_up ? "distributed.lost_timeout" : "distributed.start_timeout");
    if (silent_s > limit)
        return FAIL(err, E_LOST, "no word from the master for %.0f s", silent_s);
    return OK;
}

/* State that a cut has come to hold is copied while no message waits: from the last part on, whose
 * gradient comes first, and with pauses, as copying takes memory's bandwidth from who computes. */
static void ps_settle(ps *s, bool is_idle)
{
    uint64_t freezes = s->cuts ? cuts_freezes(s->cuts) : 0;
    if (s->settling.freezes != freezes) {
        s->settling.freezes = freezes;
        s->settling.below = s->plan.declaration.flat->n_live_parts;
    } else if (is_idle && s->settling.below) {
        table_settle(s->table, --s->settling.below);
    }
}

static status ps_wait_for_any(ps *s, error *err)
{
    net_socket *all[NET_POLL_MAX] = {s->socket};
    size_t n = 0;
    net_socket *const *links = s->standbys.replicator ? replicator_sockets(s->standbys.replicator, &n) : NULL;
    if (n)
        memcpy(all + 1, links, n * sizeof(net_socket *));
    int most_ms = s->settling.below ? SETTLE_PAUSE_MS : TICK_MS;
    int64_t began = clock_us();
    TRY(net_poll(all, 1 + n, s->waker, table_is_summing(s->table) ? 0 : most_ms, err));
    part_times_rest(&s->times, began, clock_us());
    return OK;
}

static status ps_loop(ps *s, error *err)
{
    s->waits.began_us = s->chief.heard_us = clock_us();
    while (!s->ending.stopped) {
        if (s->o->abort && atomic_load(s->o->abort))
            return FAIL(err, E_ABORTED, "another role of this process failed");
        TRY(ps_wait_for_any(s, err));
        net_event event;
        while (net_next_event(s->socket, &event))
            if (event.kind == NET_DOWN)
                ps_drop_pulls(s, event.connection);
            else if (event.kind == NET_REFUSED)
                LOG_W("STRANGER", "not let in: %s; more like it are only counted", event.why);
        net_message m;
        int n = 0;
        for (; n < 64 && !s->ending.stopped && net_receive(s->socket, &m); n++) {
            status st = ps_take(s, &m, err);
            span_drop(m.payload);
            TRY(st);
        }
        if (s->standbys.replicator)
            TRY(replicator_serve(s->standbys.replicator, err));
        ps_settle(s, n == 0);
        if (s->set_up && n == 0)
            TRY(table_say_summed(s->table, err));
        ps_answer_pulls(s);
        ps_send_cut_results(s);
        ps_send_histograms(s);
        TRY(ps_tick(s, err));
    }
    return s->ending.outcome;
}

/* The master must hear why we leave; not of us if another role of this process is the cause. */
static void ps_say_failed(ps *s, status st, const error *why)
{
    if (!s->chief.is_known || s->ending.stopped || st == E_ABORTED)
        return;
    char name[TASK_NAME];
    Wire__Stop m = WIRE__STOP__INIT;
    m.status = st;
    m.text = (char *)(uintptr_t)why->text;
    m.task = (char *)(uintptr_t)task_name(s->o->self, name);
    ps_reply_proto(s, &s->chief.peer, (wire_head){.type = WIRE_FAILED}, &m.base);
}

/* Others compute on this machine too, as a rule. */
static int n_threads(const config *c)
{
    enum { ENOUGH = 16 }; /* for the memory of a machine */
    if (config_has(c, "distributed.ps_threads"))
        return (int)config_int(c, "distributed.ps_threads");
    int half = thread_cpus() / 2;
    return half < 1 ? 1 : half > ENOUGH ? ENOUGH : half;
}

/* Frozen as the job ended, it has since written what it was asked for before. Beside a master it touches
 * nothing: that sees to the job dir, or was followed by another. */
static void leave_tidy(const ps *s)
{
    jobdir *d = NULL;
    bool sees = !s->o->starts_over && s->dir && jobdir_check_there(s->dir, NULL) == OK;
    if (sees && jobdir_open(s->o->job_dir, &d, NULL) == OK && jobend_complete(d))
        LOG_D("TIDY", "'%s'", s->o->job_dir);
    jobdir_close(&d);
}

status ps_run(const ps_options *options, error *err)
{
    error mine = ERROR_INIT;
    char name[TASK_NAME];
    ps s = {.o = options, .life = hello_life(), .ending = {.err = err ? err : &mine},
            .reports = {.applied = reports_create(), .beside = reports_create()}};
    trace_task(ROLE_PS, task_name(options->self, name));
    status st = net_waker_create(&s.waker, s.ending.err);
    if (st == OK)
        st = thread_pool_create(n_threads(options->config), task_name(options->self, name), &s.thread_pool,
                                s.ending.err);
    if (st == OK)
        st = net_listen(options->net, options->endpoints, options->n_endpoints, options->listen_fd,
                        &s.socket, s.ending.err);
    if (st == OK) {
        s.outbox = outbox_create(OUTBOX_LIMIT, s.waker);
        LOG_D("LISTEN", "endpoint=%s", net_endpoint(s.socket));
        st = ps_loop(&s, s.ending.err);
        pulse_rest(ROLE_PS);
        if (net_refused(s.socket))
            LOG_I("STRANGER", "refused=%" PRIu64 " in all", net_refused(s.socket));
        if (st != OK)
            ps_say_failed(&s, st, s.ending.err);
    }
    net_close(&s.socket, 1000);
    ps_setup_clear(&s);
    if (st == OK)
        leave_tidy(&s);
    reports_destroy(&s.reports.applied);
    reports_destroy(&s.reports.beside);
    thread_pool_destroy(&s.thread_pool);
    jobdir_close(&s.dir);
    spool_destroy(&s.spool);
    outbox_close(&s.outbox);
    free(s.chief.address);
    net_waker_destroy(&s.waker);
    return st;
}
