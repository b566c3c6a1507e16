#include "common/wire/trace_wire.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/live/clock_offset.h"
#include "common/live/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fill_tasks(Wire__Trace *m)
{
    trace_self tasks[ROLE_COUNT];
    m->n_tasks = trace_tasks(tasks);
    m->tasks = xcalloc(m->n_tasks + 1, sizeof *m->tasks);
    for (size_t i = 0; i < m->n_tasks; i++) {
        m->tasks[i] = xmalloc(sizeof **m->tasks);
        wire__trace__task__init(m->tasks[i]);
        m->tasks[i]->role = (uint32_t)tasks[i].role;
        m->tasks[i]->name = xstrdup(tasks[i].name);
    }
}

static void fill_peers(Wire__Trace *m)
{
    uint32_t number;
    task who;
    m->peers = xcalloc(RECORDER_PEERS, sizeof *m->peers);
    for (int i = 0; i < RECORDER_PEERS; i++) {
        if (!recorder_peer_at(i, &number, &who))
            continue;
        Wire__Trace__Peer *p = m->peers[m->n_peers++] = xmalloc(sizeof *p);
        wire__trace__peer__init(p);
        p->number = number;
        p->role = (uint32_t)who.role;
        p->index = (uint32_t)who.index;
    }
}

/* Names are the trace's. */
static void fill_variants(Wire__Trace *m)
{
    trace_variant variants[TRACE_VARIANTS];
    m->n_variants = trace_variants(variants);
    m->variants = xcalloc(m->n_variants + 1, sizeof *m->variants);
    for (size_t i = 0; i < m->n_variants; i++) {
        m->variants[i] = xmalloc(sizeof **m->variants);
        wire__trace__variant__init(m->variants[i]);
        m->variants[i]->number = (uint32_t)variants[i].number;
        m->variants[i]->nodes = variants[i].names;
        m->variants[i]->n_nodes = (size_t)variants[i].n;
    }
}

static void fill_clock(Wire__Trace *m)
{
    clock_estimate e;
    bool known = clock_master_now(clock_us(), &e);
    m->offset_us = known ? e.offset_us : 0;
    m->error_us = known ? e.error_us : -1;
}

static void fill_events(uint32_t piece, Wire__Trace *m)
{
    recorder_event *events = xmalloc(TRACE_PIECE * sizeof *events);
    size_t n = trace_read((size_t)piece * TRACE_PIECE, TRACE_PIECE, events);
    m->events = (ProtobufCBinaryData){.len = n * sizeof *events, .data = (uint8_t *)events};
}

void trace_wire_fill(const Wire__Trace *asked, role r, Wire__Trace *ret)
{
    char host[256] = "";
    uint32_t piece = asked->piece;
    wire__trace__init(ret);
    ret->piece = piece;
    ret->asked_us = asked->asked_us;
    ret->clock_us = clock_us();
    ret->pieces = (uint32_t)(trace_count() / TRACE_PIECE + 1);
    ret->elsewhere = !trace_speaks(r);
    ret->begin = trace_steps.begin;
    ret->end = trace_steps.end;
    ret->kinds = EVENT_COUNT;
    gethostname(host, sizeof host - 1);
    ret->host = xstrdup(host);
    ret->pid = (uint64_t)getpid();
    ret->left_out = trace_left_out();
    fill_clock(ret);
    if (ret->elsewhere)
        return;
    fill_tasks(ret);
    fill_events(piece, ret);
    if (piece)
        return;
    fill_peers(ret);
    fill_variants(ret);
}

void trace_wire_clear(Wire__Trace *m)
{
    for (size_t i = 0; i < m->n_tasks; i++) {
        free(m->tasks[i]->name);
        free(m->tasks[i]);
    }
    for (size_t i = 0; i < m->n_peers; i++)
        free(m->peers[i]);
    for (size_t i = 0; i < m->n_variants; i++)
        free(m->variants[i]);
    free(m->tasks);
    free(m->peers);
    free(m->variants);
    free(m->host);
    free(m->events.data);
    wire__trace__init(m);
}

/* Of microseconds, a hundred years: the sum of two of these in nanoseconds is an int64_t. */
static const int64_t most = INT64_C(1) << 52;

static bool is_event(const recorder_event *e)
{
    return (unsigned)e->kind < EVENT_COUNT && e->at_us >= 0 && e->at_us <= most && e->took_us >= 0 &&
           e->took_us <= e->at_us && e->step >= -1 && e->lane >= -1;
}

static bool are_events(const ProtobufCBinaryData *d)
{
    bool fits = d->len % sizeof(recorder_event) == 0 && d->len <= TRACE_PIECE * sizeof(recorder_event);
    for (size_t at = 0; fits && at < d->len; at += sizeof(recorder_event)) {
        recorder_event e;
        memcpy(&e, d->data + at, sizeof e);
        fits = is_event(&e);
    }
    return fits;
}

/* As many bytes as a trace keeps of them. */
static bool are_names(const Wire__Trace *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < m->n_variants; i++)
        for (size_t k = 0; bytes <= TRACE_NAMES && k < m->variants[i]->n_nodes; k++)
            bytes += strlen(m->variants[i]->nodes[k]) + TRACE_NAME_MORE;
    return bytes <= TRACE_NAMES;
}

status trace_wire_check(const Wire__Trace *m, error *err)
{
    bool fits = m->pieces > m->piece && m->pieces <= TRACE_PIECES + 1 && m->n_tasks <= ROLE_COUNT &&
                m->n_peers <= RECORDER_PEERS && m->n_variants <= TRACE_VARIANTS && m->offset_us >= -most &&
                m->offset_us <= most && m->error_us >= -1 && m->error_us <= most && strlen(m->host) < 256;
    for (size_t i = 0; fits && i < m->n_tasks; i++)
        fits = m->tasks[i]->role < ROLE_COUNT && strlen(m->tasks[i]->name) < TASK_NAME;
    for (size_t i = 0; fits && i < m->n_peers; i++)
        fits = m->peers[i]->role < ROLE_COUNT && m->peers[i]->index <= INT32_MAX;
    if (!fits || !are_names(m) || m->kinds != EVENT_COUNT || !are_events(&m->events))
        return FAIL(err, E_PROTOCOL, "TRACE: no trace of this version");
    return OK;
}
