/*
 * What arrives: every message is decoded, checked against the grammar, the phase and the era, and
 * handed to the file that knows what it means.
 */
#include "master/state.h"

#include "common/base/clock.h"
#include "common/base/log.h"

#include <stdio.h>

/* --- failures --- */

static void fail_from(master *m, status st, const char *who, const char *text)
{
    if (m->ending.failed != OK)
        return;
    m->ending.failed = st;
    error_clear(&m->ending.failure);
    error_set(&m->ending.failure, st, "%s: %s", who, text);
}

/* Codes from 128 on say that the task may be started again: the job goes on without it till then. A
 * member that does not fit the job, though it seemed to, is the end of that member. */
static bool goes_on_without(const member *from, status st)
{
    bool may_come_back = st == E_LOST || st == E_DEVICE || st == E_PREEMPTED;
    bool does_not_fit = st == E_CONFIG || st == E_PROTOCOL;
    return may_come_back || (from && does_not_fit);
}

/* `from`: the worker that said it; NULL: a server, or nobody we know. */
static void master_take_failed(master *m, member *from, const Wire__Stop *s)
{
    status st = s->status > OK && s->status < STATUS_COUNT ? (status)s->status : E_FAIL;
    log_level level = m->o->n_endpoints == 1 ? LOG_DEBUG : LOG_ERROR; /* our own process says it */
    log_line(level, "FAILED", "task=%s code=%d %s", s->task, status_exit_code(st), s->text);
    if (from)
        from->told = status_exit_code(st) < 128; /* who ends for good need not hear of ours */
    if (!goes_on_without(from, st)) {
        fail_from(m, st, s->task, s->text);
    } else if (from) {
        master_tell(m, TIMELINE_LOST, s->task, "leaves: %s", s->text);
        from->alive = from->whole = false;
        m->views.is_due = m->phase >= RUN;
    }
}

void master_preempt(master *m, const char *who)
{
    if (m->ending.preempted)
        return;
    m->ending.preempted = true;
    m->ending.preempt_us = clock_us();
    LOG_W("PREEMPT", "%s is asked to leave: cutting a checkpoint, then the job stops (resumable)",
          who);
    master_tell(m, TIMELINE_PREEMPT, NULL, "%s is asked to leave: a checkpoint is cut, then the job stops", who);
    if (m->saver)
        saver_hurry(m->saver);
}

/* --- how tasks stand --- */

/* Nothing follows from it, so what makes no sense is dropped. *p moves, if it is kept. */
static void take_status(master *m, task of, uint64_t life, size_t bytes, ProtobufCMessage **p)
{
    error why = ERROR_INIT;
    char name[TASK_NAME];
    Wire__Status *said = (Wire__Status *)*p;
    status st = bytes > STATUS_BYTES_MOST ? FAIL(&why, E_PROTOCOL, "STATUS: %zu bytes", bytes)
                                          : statuses_take(&m->statuses, of, life, clock_us(), &said, &why);
    if (st != OK)
        LOG_D("STATUS", "of=%s dropped: %s", task_name(of, name), why.text);
    *p = said ? &said->base : NULL;
}

/* --- dispatch --- */

/* Also the last words of a life that is over and has a successor: what it reports is in the
 * weights. */
static bool may_report(const master *m, const wire_head *h)
{
    bool is_known = h->incarnation > 0 && h->incarnation <= m->members.incarnations;
    return h->type == WIRE_REPORT && is_known && (m->phase == RUN || m->phase == DRAIN) &&
           h->job_id == m->era.identity.job_id && h->era == m->era.identity.era;
}

void master_note_failed(master *m, const Wire__Stop *s)
{
    unsigned index;
    if (sscanf(s->task, "worker.%u", &index) == 1)
        members_met(&m->members, false, index, -1);
}

static status take_worker_proto(master *m, const net_message *message, const wire_head *h,
                                member *from, error *err)
{
    ProtobufCMessage *p = NULL;
    if (wire_unpack(h->type, span_data(message->payload),
                    span_bytes(message->payload), &p, NULL) != OK)
        return OK;
    status st = OK;
    switch (h->type) {
    case WIRE_HELLO:
        st = master_take_hello(m, message, (const Wire__Hello *)p, err);
        break;
    case WIRE_DECLARE:
        st = from ? master_take_declare(m, from, (const Wire__Declaration *)p, err) : OK;
        break;
    case WIRE_REPORT:
        if (may_report(m, h))
            st = m->plan.scheduler->report(m, from, h, (const Wire__Report *)p, err);
        break;
    case WIRE_DELIVERED:
        if (from && m->plan.scheduler->delivered)
            m->plan.scheduler->delivered(m, from, h, (const Wire__Delivered *)p);
        break;
    case WIRE_STATUS:
        if (from)
            take_status(m, member_task(from), from->life, span_bytes(message->payload), &p);
        break;
    case WIRE_TRACE:
        if (from)
            master_take_trace(
                m, &(traced_task){.role = ROLE_WORKER, .trainer = from->trainer, .index = from->index}, &p);
        break;
    case WIRE_FAILED:
        master_note_failed(m, (const Wire__Stop *)p);
        master_take_failed(m, from, (const Wire__Stop *)p);
        break;
    default:
        break;
    }
    wire_free(p);
    return st;
}

/* A newer master leads the job: we leave, and nobody stops because of us. */
static status check_term(master *m, const wire_head *h, error *err)
{
    if (h->job_id != m->era.identity.job_id || h->era <= m->era.identity.era)
        return OK;
    m->ending.superseded = true;
    return FAIL(err, E_LOST, "a newer master leads the job: its era is %u, ours was %u", h->era,
                m->era.identity.era);
}

/* Who came in mid-run gets slots once it holds a version. */
static void note_version(master *m, member *from, const wire_head *h)
{
    char name[TASK_NAME];
    int64_t held = wire_heartbeat_held(h);
    if (from->whole || m->phase != RUN || h->era != m->era.identity.era || held < 0)
        return;
    LOG_I("WHOLE", "task=%s holds version %lld: slots are dealt anew", member_name(from, name),
          (long long)held);
    master_tell(m, TIMELINE_WHOLE, name, "holds version %lld: slots are dealt anew", (long long)held);
    from->whole = true;
    m->views.is_due = true;
}

/* A connection's number is used again: a loss may be told of the one that came after it. What a
 * worker says on it a while later clears it of suspicion. */
static void note_life(master *m, member *from, const wire_head *h)
{
    from->heard_us = clock_us();
    from->hangs = false;
    bool is_back = !from->alive || (from->suspect && from->heard_us - from->suspect_us > SECOND_US);
    if (is_back) {
        char name[TASK_NAME];
        master_tell(m, TIMELINE_JOIN, member_name(from, name), "is heard again");
        from->alive = true;
        from->suspect = false;
        m->views.is_due = m->phase >= RUN;
    }
    if (h->type != WIRE_HEARTBEAT)
        return;
    note_version(m, from, h);
    from->held = wire_heartbeat_held(h);
    from->computing = wire_heartbeat_computing(h);
    from->computing_era = h->era;
}

/* Answers a HEARTBEAT, with what our clock says. */
static void say_alive(const master *m, const net_message *asked, wire_head alive)
{
    ProtobufCMessage *p = NULL;
    Wire__Alive clocks = WIRE__ALIVE__INIT;
    if (wire_unpack(WIRE_HEARTBEAT, span_data(asked->payload), span_bytes(asked->payload), &p, NULL) == OK) {
        clocks.asked_us = ((const Wire__Heartbeat *)p)->clock_us;
        clocks.clock_us = clock_us();
    }
    wire_free(p);
    master_send(m->listener, &asked->from, alive, &clocks.base);
}

static status take_worker(master *m, const net_message *message, error *err)
{
    wire_head h;
    if (wire_head_decode(message->head, span_bytes(message->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_WORKER, ROLE_MASTER))
        return OK;
    member *from = members_by_peer(&m->members, &message->from);
    if (from && from->refused && h.type != WIRE_HELLO)
        return OK;                  /* also that it failed: it was told to leave */
    if (from) {
        TRY(check_term(m, &h, err));
        note_life(m, from, &h);
    }
    char name[TASK_NAME];
    if (h.type == WIRE_HEARTBEAT) {
        wire_head alive = master_head(m, WIRE_ALIVE);
        wire_set_alive_limit(&alive, m->views.limit);
        wire_set_alive_asked(&alive, m->waits.asked);
        wire_set_alive_view(&alive, !from ? WIRE_NO_VIEW : m->phase >= RUN ? m->views.id : 0);
        say_alive(m, message, alive);
    }
    if (h.type == WIRE_PREEMPT && from)
        master_preempt(m, member_name(from, name));
    if (h.type == WIRE_HEARTBEAT || h.type == WIRE_PREEMPT)
        return OK;
    /* nobody else's are worth unpacking; who fails before its hello is told of before the run */
    bool may_fail = h.type == WIRE_FAILED && (m->phase < RUN || h.job_id == m->era.identity.job_id);
    if (!from && h.type != WIRE_HELLO && !may_fail && !may_report(m, &h))
        return OK;
    return take_worker_proto(m, message, &h, from, err);
}

static status take_server_welcome(master *m, int32_t s, const wire_head *h, const Wire__Welcome *w,
                                  error *err)
{
    server *one = &m->servers[s];
    char name[TASK_NAME];
    bool is_new = one->life && one->life != w->life;
    bool was_there = one->welcomed && !is_new;
    bool is_back = m->assign.copies && !assign_needs(&m->assign, s);
    if (is_new)
        one->clock = (clock_offset){.n = 0};
    one->life = w->life;
    one->welcomed = true;
    one->told = false;
    one->refuses_us = 0;
    if (!was_there)
        master_tell(m, TIMELINE_JOIN, master_server_name(m, s, name), "%s at %s",
                    is_new ? "is there again, as another process," : "is there", m->o->servers[s]);
    one->lineage = h->job_id == m->era.identity.job_id ? w->lineage : 0;
    master_note_shards(m, one, w);
    if (!(is_new || is_back) || m->phase < SETUP || m->phase > RUN)
        return master_try_setup(m, err);
    return master_turn(m, s, is_back ? "is back" : "started anew without its parts", err);
}

/* One that does not fit the job is as good as none: it will leave, and another may come in its
 * place. It may be us who are wrong, too (master_check_agreement). */
static void take_server_refused(master *m, int32_t s, const Wire__Refused *r)
{
    char name[TASK_NAME];
    bool does_not_fit = r->status == E_CONFIG || r->status == E_PROTOCOL;
    unsigned others = 0;
    if (r->status == OK)
        return;
    if (!m->servers[s].refuses_us)
        m->servers[s].refuses_us = clock_us();
    master_server_name(m, s, name);
    error_clear(&m->disagreement);
    error_set(&m->disagreement, does_not_fit ? (status)r->status : E_CONFIG, "refused by %s: %s", name,
              r->text);
    if (!does_not_fit)
        fail_from(m, r->status < STATUS_COUNT ? (status)r->status : E_FAIL, name, r->text);
    else if (log_pace_allows(&m->refused_pace, clock_us(), &others))
        LOG_W("REFUSED", "by %s: %s", name, r->text);
}

static status take_server_proto(master *m, int32_t s, const net_message *message,
                                const wire_head *h, error *err)
{
    ProtobufCMessage *p = NULL;
    if (wire_unpack(h->type, span_data(message->payload),
                    span_bytes(message->payload), &p, NULL) != OK)
        return OK;
    bool current = h->era == m->era.identity.era && m->phase >= SETUP;
    bool runs = current && m->phase >= RUN; /* before that there are no accounts; it is asked for again */
    status st = OK;
    if (h->type == WIRE_WELCOME) {
        st = take_server_welcome(m, s, h, (const Wire__Welcome *)p, err);
    } else if (h->type == WIRE_READY && current) {
        st = master_take_ready(m, s, (const Wire__Ready *)p, err);
    } else if (h->type == WIRE_REPORT && current && m->phase >= RUN) {
        st = master_record(m, h, (const Wire__Report *)p, err);
    } else if (h->type == WIRE_NORM && current) {
        st = master_take_norm(m, s, h, (const Wire__Norm *)p, err);
    } else if (h->type == WIRE_CUT_DONE && runs) {
        st = master_take_cut_done(m, s, h, (const Wire__CutDone *)p, err);
    } else if (h->type == WIRE_SHARD && runs) {
        st = master_take_shard(m, s, (const Wire__Shard *)p, err);
    } else if (h->type == WIRE_CUT_LATE && runs) {
        st = master_take_cut_late(m, (const Wire__CutLate *)p, err);
    } else if (h->type == WIRE_HISTOGRAM && runs) {
        st = summaries_take(m->summaries, accounting_events(m->accounting),
                            wire_histogram_version(h), (const Wire__Histogram *)p, err);
    } else if (h->type == WIRE_TRACE) {
        master_take_trace(m, &(traced_task){.role = ROLE_PS, .server = s}, &p);
    } else if (h->type == WIRE_STATUS) {
        task of = {ROLE_PS, m->o->first_server + s};
        take_status(m, of, m->servers[s].life, span_bytes(message->payload), &p);
    } else if (h->type == WIRE_FAILED) {
        m->servers[s].told = true;
        master_take_failed(m, NULL, (const Wire__Stop *)p);
    } else if (h->type == WIRE_REFUSED) {
        take_server_refused(m, s, (const Wire__Refused *)p);
    }
    wire_free(p);
    return st;
}

/* Of its clock. */
static void take_alive(server *from, const net_message *message)
{
    ProtobufCMessage *p = NULL;
    if (wire_unpack(WIRE_ALIVE, span_data(message->payload), span_bytes(message->payload), &p, NULL) != OK)
        return;
    const Wire__Alive *alive = (const Wire__Alive *)p;
    if (alive->asked_us && alive->clock_us)
        clock_offset_add(&from->clock, alive->asked_us, alive->clock_us, clock_us());
    wire_free(p);
}

static status take_server(master *m, int32_t s, const net_message *message, error *err)
{
    wire_head h;
    if (wire_head_decode(message->head, span_bytes(message->payload), &h, NULL) != OK ||
        !wire_may_say(h.type, ROLE_PS, ROLE_MASTER))
        return OK;
    TRY(check_term(m, &h, err));
    m->servers[s].heard_us = clock_us();
    m->servers[s].unanswered = 0;
    m->servers[s].hangs = false;
    char name[TASK_NAME];
    if (h.type == WIRE_PREEMPT)
        master_preempt(m, master_server_name(m, s, name));
    if (h.type == WIRE_LOAD && h.era == m->era.identity.era)
        return master_take_load(m, s, &h, err);
    if (h.type == WIRE_BACKED && h.era == m->era.identity.era)
        return master_take_backed(m, s, &h, err);
    if (h.type == WIRE_ALIVE)
        take_alive(&m->servers[s], message);
    if (h.type == WIRE_ALIVE && wire_alive_view(&h) && m->servers[s].welcomed)
        master_say_hello(m, &m->servers[s]);
    if (h.type == WIRE_ALIVE || h.type == WIRE_PREEMPT || h.type == WIRE_LOAD || h.type == WIRE_BACKED)
        return OK;
    return take_server_proto(m, s, message, &h, err);
}

enum { TURN_US = 200 * 1000 };

static status receive_server(master *m, int32_t i, int64_t until_us, error *err)
{
    net_message message;
    while (clock_us() < until_us && net_receive(m->servers[i].socket, &message)) {
        status st = take_server(m, i, &message, err);
        span_drop(message.payload);
        TRY(st);
    }
    return OK;
}

status master_serve_servers(master *m, error *err)
{
    for (int32_t i = 0; i < m->o->n_servers; i++) {
        server *s = &m->servers[i];
        net_event event;
        while (net_next_event(s->socket, &event)) {
            s->refused = event.why;
            if (event.kind == NET_UP) {
                master_say_hello(m, s);
                continue;
            }
            /* what came before the loss counts: it may say why the server left */
            TRY(receive_server(m, i, INT64_MAX, err));
            TRY(master_redial(m, i, err));
        }
        /* servers that keep us busy, with cuts on a slow disk, do not keep us from all else */
        TRY(receive_server(m, i, clock_us() + TURN_US, err));
    }
    return OK;
}

status master_serve_workers(master *m, error *err)
{
    net_event event;
    while (net_next_event(m->listener, &event)) {
        if (event.kind == NET_REFUSED) {
            LOG_W("STRANGER", "not let in: %s; more like it are only counted", event.why);
            continue;
        }
        member *lost = members_by_connection(&m->members, event.connection);
        if (event.kind == NET_DOWN)
            reading_workers_lost(&m->reading, event.connection);
        char name[TASK_NAME];
        if (!lost)
            continue;
        lost->suspect = true;
        lost->suspect_us = clock_us();
        if (m->plan.scheduler->suspect)
            m->plan.scheduler->suspect(m);
        if (!lost->alive || m->phase >= OVER)
            continue;
        LOG_W("SUSPECT", "task=%s: its connection is gone", member_name(lost, name));
        master_tell(m, TIMELINE_SUSPECT, name, "its connection is gone");
    }
    net_message message;
    for (int i = 0; i < 256 && net_receive(m->listener, &message); i++) {
        status st = take_worker(m, &message, err);
        span_drop(message.payload);
        TRY(st);
    }
    return OK;
}
