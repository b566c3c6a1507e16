#include "master/tracing.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "master/state.h"

#include <stdlib.h>

/* Who has its last events of a step noted a little after the step's reports are here. A task that says nothing may be
 * computing a large slot: its loop turns all the same. */
enum { SETTLE_US = SECOND_US / 4, ASK_AGAIN_US = SECOND_US, GIVE_UP_US = 10 * SECOND_US,
       GIVE_UP_ALL_US = 6 * GIVE_UP_US, GIVE_UP_DISK_US = 6 * GIVE_UP_US };

status master_trace_settle(master *m, error *err)
{
    tracing *t = &m->tracing;
    t->steps = trace_steps;
    if (t->steps.end <= t->steps.begin)
        return OK;
    if (t->steps.end > m->plan.total)
        return FAIL(err, E_CONFIG, "distributed.profile: %lld:%lld goes beyond the job, which has %lld steps",
                    (long long)t->steps.begin, (long long)t->steps.end, (long long)m->plan.total);
    if (t->state == TRACING_NONE)
        t->state = TRACING_RUNS;
    return OK;
}

/* --- who is asked --- */

static const char *traced_name(const master *m, const traced_task *t, char ret[TASK_NAME])
{
    if (t->role == ROLE_PS)
        return master_server_name(m, t->server, ret);
    bool is_ours = t->role == ROLE_MASTER;
    return task_name((task){is_ours || t->trainer ? ROLE_MASTER : ROLE_WORKER, (int32_t)t->index}, ret);
}

static const member *traced_member(const master *m, const traced_task *t)
{
    for (size_t i = 0; i < m->members.n; i++)
        if (m->members.at[i].trainer == t->trainer && m->members.at[i].index == t->index)
            return &m->members.at[i];
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    const traced_task *x = a, *y = b;
    if (x->trainer != y->trainer)
        return x->trainer ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The master, workers and servers, each in the order of its numbers. */
static void list_tasks(master *m)
{
    tracing *t = &m->tracing;
    t->tasks = xcalloc(1 + m->members.n + (size_t)m->o->n_servers, sizeof *t->tasks);
    t->tasks[t->n++] = (traced_task){.role = ROLE_MASTER};
    for (size_t i = 0; i < m->members.n; i++)
        if (!m->members.at[i].refused)
            t->tasks[t->n++] = (traced_task){.role = ROLE_WORKER, .trainer = m->members.at[i].trainer,
                                             .index = m->members.at[i].index};
    qsort(t->tasks + 1, t->n - 1, sizeof *t->tasks, by_name);
    for (int32_t s = 0; s < m->o->n_servers; s++)
        t->tasks[t->n++] = (traced_task){.role = ROLE_PS, .server = s};
}

/* --- asking --- */

static void ask_next(tracing *t)
{
    trace_source_free(&t->source);
    t->at++;
    t->piece = 0;
    t->clock = (clock_offset){.n = 0};
    t->asked_us = t->heard_us = 0;
}

static void miss(master *m, const char *why)
{
    tracing *t = &m->tracing;
    char name[TASK_NAME];
    LOG_W("TRACE", "task=%s is missing in the profile: %s", traced_name(m, &t->tasks[t->at], name), why);
    trace_writer_miss(t->writer, name, why);
    t->n_missing++;
    ask_next(t);
}

/* NULL: it can be asked. */
static const char *why_not(const master *m, const traced_task *one)
{
    const member *w = one->role == ROLE_WORKER ? traced_member(m, one) : NULL;
    if (one->role == ROLE_WORKER)
        return w && w->alive && !w->suspect ? NULL : "it is gone";
    return one->role == ROLE_MASTER || m->servers[one->server].welcomed ? NULL : "it is gone";
}

static void ask(master *m)
{
    tracing *t = &m->tracing;
    const traced_task *one = &t->tasks[t->at];
    Wire__Trace w = WIRE__TRACE__INIT;
    w.piece = t->piece;
    t->asked_us = w.asked_us = clock_us();
    if (!t->heard_us)
        t->heard_us = t->asked_us;
    if (one->role == ROLE_PS)
        master_send(m->servers[one->server].socket, NULL, master_head(m, WIRE_TRACE), &w.base);
    else
        master_send(m->listener, &traced_member(m, one)->peer, master_head(m, WIRE_TRACE), &w.base);
}

/* Our own process's. */
static void take_own(master *m)
{
    tracing *t = &m->tracing;
    const traced_task *one = &t->tasks[t->at];
    Wire__Trace asked = WIRE__TRACE__INIT, own;
    buf packed = BUF_INIT;
    ProtobufCMessage *copy = NULL;
    error err = ERROR_INIT;
    asked.piece = t->piece;
    trace_wire_fill(&asked, ROLE_MASTER, &own);
    wire_pack(&own.base, &packed);
    trace_wire_clear(&own);
    status st = wire_unpack(WIRE_TRACE, packed.data, packed.size, &copy, &err);
    buf_fini(&packed);
    BUG_ON(st != OK);
    master_take_trace(m, one, &copy);
    wire_free(copy);
}

/* Whether the writer has more than one to begin with, while the next one is to be asked. */
static bool is_held(const tracing *t)
{
    bool is_next = t->at < t->n && !t->piece && !t->heard_us;
    return is_next && trace_writer_waiting(t->writer) > 1;
}

static void ask_on(master *m, int64_t now_us)
{
    tracing *t = &m->tracing;
    if (is_held(t)) {
        t->done_us += now_us - t->turn_us;
        return;
    }
    while (t->at < t->n && t->tasks[t->at].role == ROLE_MASTER)
        take_own(m);
    while (t->at < t->n && !is_held(t)) {
        const char *why = why_not(m, &t->tasks[t->at]);
        if (!why && t->heard_us && now_us - t->heard_us > GIVE_UP_US)
            why = "it does not answer";
        if (!why && now_us - t->done_us > GIVE_UP_ALL_US)
            why = "others took too long";
        if (!why)
            break;
        miss(m, why);
    }
    if (t->at < t->n && !is_held(t) && now_us - t->asked_us > ASK_AGAIN_US)
        ask(m);
    if (t->at == t->n) {
        trace_writer_end(t->writer);
        t->state = TRACING_WRITES;
    }
}

static bool is_same(const traced_task *a, const traced_task *b)
{
    return a->role == b->role && a->server == b->server && a->trainer == b->trainer && a->index == b->index;
}

/* Whether it is one that told nothing of these steps, and why. */
static const char *why_nothing(const tracing *t, const Wire__Trace *w)
{
    if (trace_wire_check(w, NULL) != OK)
        return "it is of another version";
    bool is_told = w->begin == t->steps.begin && w->end == t->steps.end;
    return is_told ? NULL : "it was started without these steps in distributed.profile";
}

/* What it notes meanwhile, as of a slot that was hedged, may make more pieces: they are left. */
static bool is_another(const tracing *t, const Wire__Trace *w)
{
    const Wire__Trace *about = t->source.about;
    return about && (w->pid != about->pid || w->pieces < about->pieces);
}

/* A task that is asked before it has had a heartbeat answered knows nothing of our clock. */
static void better_clock(tracing *t)
{
    Wire__Trace *about = t->source.about;
    clock_estimate theirs;
    if (!clock_offset_now(&t->clock, t->heard_us, &theirs))
        return;
    if (about->error_us < 0 || theirs.error_us < about->error_us) {
        about->offset_us = -theirs.offset_us;
        about->error_us = theirs.error_us;
    }
}

void master_take_trace(master *m, const traced_task *from, ProtobufCMessage **message)
{
    tracing *t = &m->tracing;
    Wire__Trace *w = (Wire__Trace *)*message;
    if (t->state != TRACING_ASKS || t->at == t->n || !is_same(from, &t->tasks[t->at]) || w->piece != t->piece)
        return;
    const char *why = why_nothing(t, w);
    if (why) {
        miss(m, why);
        return;
    }
    if (w->elsewhere) {
        ask_next(t);
        return;
    }
    if (is_another(t, w)) {
        miss(m, "another process took its place");
        return;
    }
    t->heard_us = clock_us();
    if (w->asked_us)
        clock_offset_add(&t->clock, w->asked_us, w->clock_us, t->heard_us);
    trace_source_add(&t->source, w);
    *message = NULL;
    t->asked_us = 0;
    if (++t->piece < t->source.about->pieces)
        return;
    better_clock(t);
    trace_writer_add(t->writer, &t->source);
    t->n_told++;
    ask_next(t);
}

/* --- its course --- */

static void trace_fails(tracing *t, const error *why)
{
    LOG_W("TRACE", "the profile is not written: %s", why->text);
    t->state = TRACING_OVER;
}

/* As far as the job goes: it may have ended before. */
static void begin_asking(master *m)
{
    tracing *t = &m->tracing;
    error err = ERROR_INIT;
    t->path = jobdir_file(m->o->dir, "profile/trace-%lld-%lld.json", (long long)t->steps.begin,
                          (long long)t->steps.end);
    if (trace_writer_create(t->path, t->steps, &t->writer, &err) != OK) {
        trace_fails(t, &err);
        return;
    }
    list_tasks(m);
    t->state = TRACING_ASKS;
}

static void look_whether_done(master *m, int64_t now_us)
{
    tracing *t = &m->tracing;
    int64_t step = accounting_totals_of(m->accounting)->step;
    bool is_done = step >= t->steps.end || (m->phase == DRAIN && step >= m->plan.total);
    if (!is_done)
        return;
    if (m->era.start >= t->steps.end && !t->done_us) {
        LOG_W("TRACE", "steps %lld to %lld were done before this start: there is no profile of them",
              (long long)t->steps.begin, (long long)t->steps.end - 1);
        t->state = TRACING_OVER;
        return;
    }
    if (!t->done_us)
        t->done_us = now_us;
    if (now_us - t->done_us >= SETTLE_US)
        begin_asking(m);
}

static void look_whether_written(tracing *t)
{
    error err = ERROR_INIT;
    status st;
    if (!trace_writer_is_over(t->writer, &st, &err))
        return;
    if (st != OK)
        trace_fails(t, &err);
    else
        LOG_I("TRACE", "steps=%lld:%lld processes=%zu missing=%zu profile=%s", (long long)t->steps.begin,
              (long long)t->steps.end, t->n_told, t->n_missing, t->path);
    t->state = TRACING_OVER;
}

/* Nobody waits for the writer while the job trains. */
static void look_whether_stuck(master *m, int64_t now_us)
{
    tracing *t = &m->tracing;
    error why = ERROR_INIT;
    uint64_t progress = trace_writer_progress(t->writer);
    bool is_awaited = m->phase == DRAIN && (t->state == TRACING_WRITES || is_held(t));
    if (!is_awaited || !t->progress_us || progress != t->progress) {
        t->progress = progress;
        t->progress_us = now_us;
    }
    if (now_us - t->progress_us <= GIVE_UP_DISK_US)
        return;
    error_set(&why, E_DISK, "'%s': for %d s the disk has taken nothing", t->path, GIVE_UP_DISK_US / SECOND_US);
    trace_fails(t, &why);
}

void master_trace(master *m, int64_t now_us)
{
    tracing *t = &m->tracing;
    if (t->state == TRACING_RUNS && m->phase >= RUN && m->phase < OVER)
        look_whether_done(m, now_us);
    if (t->state == TRACING_ASKS)
        ask_on(m, now_us);
    if (t->state == TRACING_WRITES)
        look_whether_written(t);
    if (t->state == TRACING_ASKS || t->state == TRACING_WRITES)
        look_whether_stuck(m, now_us);
    t->turn_us = now_us;
}

bool master_trace_is_over(const master *m)
{
    const tracing *t = &m->tracing;
    bool may_come = t->state == TRACING_RUNS && m->phase == DRAIN;
    if (m->ending.preempted)
        return true;
    return !may_come && t->state != TRACING_ASKS && t->state != TRACING_WRITES;
}

void master_trace_fini(master *m)
{
    tracing *t = &m->tracing;
    if (t->state == TRACING_RUNS || t->state == TRACING_ASKS || t->state == TRACING_WRITES)
        LOG_W("TRACE", "the job ended before its profile was written");
    trace_writer_destroy(&t->writer);
    trace_source_free(&t->source);
    free(t->tasks);
    free(t->path);
}
