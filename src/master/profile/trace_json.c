#include "master/profile/trace_json.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What a task has a thread of, in this order. */
typedef enum track { LANE, LOADER, WIRE, VERSIONS, UPDATES, PULLS, CHECKPOINTS, MASTER, EVALUATOR, OTHER } track;

static const char *const track_names[] = {
    [LANE] = "lane",       [LOADER] = "loader",       [WIRE] = "messages",          [VERSIONS] = "versions",
    [UPDATES] = "updates", [PULLS] = "pulls waiting", [CHECKPOINTS] = "checkpoint", [MASTER] = "master",
    [EVALUATOR] = "evaluator", [OTHER] = "other",
};

static track track_of(recorder_kind kind)
{
    switch (kind) {
    case EVENT_SLOT:
    case EVENT_SEGMENT:
    case EVENT_NODE:
    case EVENT_DEVICE_SLOT:
    case EVENT_DEVICE_NODE:
    case EVENT_WAIT_PART:
    case EVENT_WAIT_SCALE:
    case EVENT_LOAD:
    case EVENT_IDLE:
        return LANE;
    case EVENT_BATCH_MADE:
        return LOADER;
    case EVENT_SENT:
    case EVENT_RECEIVED:
        return WIRE;
    case EVENT_HELD:
        return VERSIONS;
    case EVENT_UPDATE:
        return UPDATES;
    case EVENT_PULL_WAITED:
        return PULLS;
    case EVENT_WRITE_SHARD:
        return CHECKPOINTS;
    case EVENT_OWNER:
    case EVENT_HEDGE:
    case EVENT_STEP_DONE:
    case EVENT_COMMIT:
        return MASTER;
    case EVENT_EVALUATE:
        return EVALUATOR;
    default:
        return OTHER;
    }
}

enum { ROWS = 64, LANES = 4096, THREADS = 2 * LANES, NEAR_NS = 2000 };

/* A thread of the trace, being filled: the ends of what is open in it, outermost first. */
typedef struct thread_row {
    int64_t *ends;
    size_t n, cap;
} thread_row;

typedef struct one {
    const recorder_event *e;
    int64_t begin_ns, end_ns;       /* of the master's clock */
    int pid;
    track track;
    int thread, row;                /* of a lane: what its host does, then what its device does; else one */
} one;

struct trace_json {
    FILE *to;
    trace_window steps;
    buf tasks, missing;             /* items of these lists */
    int pids;
    _Atomic uint64_t written;       /* events; one thread adds */
};

/* --- text --- */

static void add_text(buf *b, const char *s)
{
    buf_adds(b, "\"");
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            buf_addf(b, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            buf_addf(b, "\\u%04x", (unsigned char)*s);
        else
            buf_add(b, s, 1);
    buf_adds(b, "\"");
}

uint64_t trace_json_written(const trace_json *j)
{
    return atomic_load_explicit(&j->written, memory_order_relaxed);
}

static void put(trace_json *j, const buf *event)
{
    uint64_t before = trace_json_written(j);
    fputs(before ? ",\n" : "\n", j->to);
    fwrite(event->data, 1, event->size, j->to);
    atomic_store_explicit(&j->written, before + 1, memory_order_relaxed);
}

/* A name of process `pid`, or of its thread. */
static void put_name(trace_json *j, const char *what, int pid, int64_t tid, const char *name)
{
    buf b = BUF_INIT;
    buf_addf(&b, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%d,\"tid\":%" PRId64 ",\"args\":{\"name\":", what, pid,
             tid);
    add_text(&b, name);
    buf_adds(&b, "}}");
    put(j, &b);
    buf_clear(&b);
    buf_addf(&b, "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%d,\"tid\":%" PRId64
             ",\"args\":{\"sort_index\":%" PRId64 "}}", what, pid, tid, *what == 'p' ? (int64_t)pid : tid);
    put(j, &b);
    buf_fini(&b);
}

static const char *message_name(const recorder_event *e)
{
    return wire_type_name((wire_type)e->a);
}

static bool has_part(const recorder_event *e)
{
    return e->a == WIRE_PUSH || e->a == WIRE_PUSHED || e->a == WIRE_PULL || e->a == WIRE_PART || e->a == WIRE_NORM;
}

static void add_name(buf *b, const trace_source *s, const recorder_event *e)
{
    const recorder_row *row = &recorder_rows[e->kind];
    const char *node = trace_is_node(e->kind) ? trace_source_node(s, e->b, e->a) : NULL;
    char text[64];
    bool is_message = track_of(e->kind) == WIRE;
    if (is_message && has_part(e))
        snprintf(text, sizeof text, "%s part %d", message_name(e), e->lane);
    else if (is_message)
        snprintf(text, sizeof text, "%s", message_name(e));
    else if (e->kind == EVENT_SEGMENT)
        snprintf(text, sizeof text, "until part %d is %s", e->a, e->b ? "ready" : "needed");
    else if (strcmp(row->a, "part") == 0 && e->kind != EVENT_WAIT_PART)
        snprintf(text, sizeof text, "%s part %d", row->name, e->a);
    else if (*row->a)
        snprintf(text, sizeof text, "%s %d", row->name, e->a);
    else
        snprintf(text, sizeof text, "%s", row->name);
    add_text(b, node ? node : text);
}

static void add_number(buf *b, const trace_source *s, const char *name, int64_t value)
{
    char peer[TASK_NAME];
    size_t word = strcspn(name, ","); /* what else stands there is for people */
    if (strcmp(name, "peer") == 0)
        buf_addf(b, ",\"peer\":\"%s\"", trace_source_peer(s, (uint32_t)value, peer));
    else if (word)
        buf_addf(b, ",\"%.*s\":%" PRId64, (int)word, name, value);
}

static void add_message(buf *b, const trace_source *s, const recorder_event *e)
{
    char peer[TASK_NAME];
    recorder_passing p = recorder_unpack_passing(e);
    buf_addf(b, ",\"way\":\"%s\",\"bytes\":%u", e->kind == EVENT_SENT ? "sent" : "received", p.bytes);
    if (has_part(e))
        buf_addf(b, ",\"part\":%d", e->lane);
    if (e->a == WIRE_PUSH)
        buf_addf(b, ",\"level\":%u,\"index\":%u", p.node.level, p.node.index);
    if (*trace_source_peer(s, (uint32_t)e->b, peer))
        buf_addf(b, ",\"peer\":\"%s\"", peer);
}

static void add_args(buf *b, const trace_source *s, const recorder_event *e)
{
    const recorder_row *row = &recorder_rows[e->kind];
    buf_addf(b, "\"args\":{\"kind\":\"%s\"", row->id);
    if (e->step >= 0)
        buf_addf(b, ",\"step\":%" PRId64, e->step);
    if (track_of(e->kind) == WIRE) {
        add_message(b, s, e);
    } else {
        add_number(b, s, row->a, e->a);
        add_number(b, s, row->b, e->b);
        if (!trace_is_node(e->kind))
            add_number(b, s, row->c, e->c);
    }
    buf_adds(b, "}");
}

/* --- when and where --- */

static int64_t to_ns(double us)
{
    return (int64_t)(us * 1e3 + 0.5);
}

/* Whose it is, where a process has several roles: of a message who says or hears it as a rule. */
static int role_doing(const recorder_event *e)
{
    bool is_sent = e->kind == EVENT_SENT;
    if (track_of(e->kind) == LOADER)
        return ROLE_WORKER;
    if (track_of(e->kind) != WIRE)
        return e->kind < EVENT_COUNT ? recorder_rows[e->kind].of : RECORDER_OF_ANY;
    switch (e->a) {
    case WIRE_PUSH:
    case WIRE_PULL:
        return is_sent ? ROLE_WORKER : ROLE_PS;
    case WIRE_PUSHED:
    case WIRE_PART:
        return is_sent ? ROLE_PS : ROLE_WORKER;
    case WIRE_NORM:
        return is_sent ? ROLE_PS : ROLE_MASTER;
    case WIRE_VERDICT:
        return is_sent ? ROLE_MASTER : ROLE_PS;
    default:
        return is_sent ? ROLE_WORKER : ROLE_MASTER;
    }
}

static bool is_of_device(recorder_kind kind)
{
    return kind == EVENT_DEVICE_SLOT || kind == EVENT_DEVICE_NODE;
}

static int thread_of(const recorder_event *e)
{
    int lane = e->lane >= 0 && e->lane < LANES ? e->lane : 0;
    return track_of(e->kind) == LANE ? 2 * lane + is_of_device(e->kind) : 0;
}

/* By the master's clock. */
static one placed(const trace_source *s, const recorder_event *e, const int pids[ROLE_COUNT + 1])
{
    one o = {.e = e, .pid = pids[role_doing(e)], .track = track_of(e->kind), .thread = thread_of(e)};
    int64_t offset_ns = s->about->offset_us * 1000;
    if (trace_is_node(e->kind)) {
        o.end_ns = to_ns(trace_node_end_us(e)) + offset_ns;
        o.begin_ns = o.end_ns - to_ns(trace_node_took_us(e));
    } else {
        o.end_ns = e->at_us * 1000 + offset_ns;
        o.begin_ns = o.end_ns - e->took_us * 1000;
    }
    return o;
}

/* How deep it lies in a lane, of those that begin at one moment and end at one. */
static int depth_of(recorder_kind kind)
{
    return kind == EVENT_SLOT || kind == EVENT_DEVICE_SLOT || kind == EVENT_IDLE ? 0 : trace_is_node(kind) ? 2 : 1;
}

static int compare(const void *a, const void *b)
{
    const one *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (trace_is_node(x->e->kind) && trace_is_node(y->e->kind) && x->e->a != y->e->a)
        return x->e->a < y->e->a ? -1 : 1; /* one of no length begins where the next does */
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return depth_of(x->e->kind) - depth_of(y->e->kind);
}

static bool is_same_thread(const one *a, const one *b)
{
    return a->pid == b->pid && a->track == b->track && a->thread == b->thread;
}

/* Ends what is over by then; whether the event fits into what is open. Moments are cut to microseconds: what
 * begins a little before another has ended begins with that end, what ends a little after it ends with it. */
static bool fits_row(thread_row *r, one *o)
{
    while (r->n && (r->ends[r->n - 1] <= o->begin_ns ||
                    (r->ends[r->n - 1] - o->begin_ns <= NEAR_NS && o->end_ns - r->ends[r->n - 1] > NEAR_NS))) {
        if (r->ends[r->n - 1] > o->begin_ns)
            o->begin_ns = r->ends[r->n - 1];
        r->n--;
    }
    int64_t end = r->n ? r->ends[r->n - 1] : INT64_MAX;
    if (o->end_ns > end && o->end_ns - end > NEAR_NS)
        return false;
    if (o->end_ns > end)
        o->end_ns = end;
    GROW(r->ends, r->cap, r->n + 1);
    r->ends[r->n++] = o->end_ns;
    return true;
}

static int64_t tid_of(const one *o)
{
    return ((int64_t)o->track * THREADS + o->thread) * ROWS + o->row + 1;
}

static void name_thread(trace_json *j, const one *o)
{
    char text[64], more[16] = "";
    if (o->row)
        snprintf(more, sizeof more, " (%d)", o->row + 1);
    if (o->track == LANE)
        snprintf(text, sizeof text, "lane %d%s%s", o->thread / 2, o->thread % 2 ? " device" : "", more);
    else
        snprintf(text, sizeof text, "%s%s", track_names[o->track], more);
    put_name(j, "thread", o->pid, tid_of(o), text);
}

/* --- arrows --- */

/* A gradient from the worker that sent it to its server, weights from the server to the worker. */
static bool is_arrow(const one *o)
{
    return o->track == WIRE && (o->e->a == WIRE_PUSH || o->e->a == WIRE_PART);
}

static void put_arrow(trace_json *j, const trace_source *s, const one *o)
{
    const recorder_event *e = o->e;
    char peer[TASK_NAME], lanes[TASK_NAME]; /* beside the master are the server's worker.0 */
    trace_source_peer(s, (uint32_t)e->b, peer);
    bool begins = e->kind == EVENT_SENT, by_worker = (e->a == WIRE_PUSH) == begins;
    const char *worker = by_worker ? trace_source_task(s, ROLE_WORKER) : peer;
    if (strncmp(worker, "worker.", 7) != 0)
        worker = task_name((task){ROLE_WORKER, 0}, lanes);
    recorder_passing p = recorder_unpack_passing(e);
    buf b = BUF_INIT;
    buf_addf(&b, "{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":\"%s/%d/%" PRId64 "/%u/%u/%s\",\"pid\":%d,"
             "\"tid\":%" PRId64 ",\"ts\":%.3f%s}",
             begins ? "s" : "f", message_name(e), message_name(e), message_name(e), e->lane, e->step, p.node.level,
             p.node.index, worker, o->pid, tid_of(o),
             (double)o->begin_ns * 1e-3, begins ? "" : ",\"bp\":\"e\"");
    put(j, &b);
    buf_fini(&b);
}

static void put_event(trace_json *j, const trace_source *s, const one *o)
{
    buf b = BUF_INIT;
    buf_adds(&b, "{\"ph\":\"X\",\"name\":");
    add_name(&b, s, o->e);
    buf_addf(&b, ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%" PRId64 ",\"ts\":%.3f,\"dur\":%.3f,", track_names[o->track],
             o->pid, tid_of(o), (double)o->begin_ns * 1e-3, (double)(o->end_ns - o->begin_ns) * 1e-3);
    add_args(&b, s, o->e);
    buf_adds(&b, "}");
    put(j, &b);
    buf_fini(&b);
    if (is_arrow(o))
        put_arrow(j, s, o);
}

/* --- all of a process --- */

/* Events of one thread, sorted, into as few rows as hold them; what finds none goes into the last. */
static void put_thread(trace_json *j, const trace_source *s, one *at, size_t n)
{
    thread_row rows[ROWS] = {{.n = 0}};
    int named = 0;
    for (size_t i = 0; i < n; i++) {
        int r = 0;
        while (r < ROWS - 1 && !fits_row(&rows[r], &at[i]))
            r++;
        at[i].row = r;
        if (r >= named) {
            name_thread(j, &at[i]);
            named = r + 1;
        }
        put_event(j, s, &at[i]);
    }
    for (int r = 0; r < ROWS; r++)
        free(rows[r].ends);
}

static void note_task(trace_json *j, const trace_source *s, const char *name)
{
    const Wire__Trace *a = s->about;
    if (j->tasks.size)
        buf_adds(&j->tasks, ",");
    buf_adds(&j->tasks, "\n{\"task\":");
    add_text(&j->tasks, name);
    buf_adds(&j->tasks, ",\"host\":");
    add_text(&j->tasks, a->host);
    buf_addf(&j->tasks, ",\"pid\":%" PRIu64 ",\"clock_offset_us\":%" PRId64 ",\"clock_error_us\":%" PRId64
             ",\"left_out\":%" PRIu64 "}", a->pid, a->offset_us, a->error_us, s->left_out);
}

/* Numbers of its tasks, by role. */
static void name_tasks(trace_json *j, const trace_source *s, int ret_pids[ROLE_COUNT + 1])
{
    const Wire__Trace *a = s->about;
    int first = j->pids + 1;
    for (int r = 0; r <= ROLE_COUNT; r++)
        ret_pids[r] = first;
    for (size_t i = 0; i < a->n_tasks; i++) {
        ret_pids[a->tasks[i]->role] = ++j->pids;
        put_name(j, "process", j->pids, 0, a->tasks[i]->name);
        note_task(j, s, a->tasks[i]->name);
    }
}

void trace_json_add(trace_json *j, trace_source *s)
{
    int pids[ROLE_COUNT + 1];
    one *all = xcalloc(s->n + 1, sizeof *all);
    name_tasks(j, s, pids);
    for (size_t i = 0; i < s->n; i++)
        all[i] = placed(s, &s->events[i], pids);
    qsort(all, s->n, sizeof *all, compare);
    for (size_t i = 0, end; i < s->n; i = end) {
        for (end = i + 1; end < s->n && is_same_thread(&all[i], &all[end]);)
            end++;
        put_thread(j, s, all + i, end - i);
    }
    free(all);
}

void trace_json_miss(trace_json *j, const char *name, const char *why)
{
    if (j->missing.size)
        buf_adds(&j->missing, ",");
    buf_adds(&j->missing, "\n{\"task\":");
    add_text(&j->missing, name);
    buf_adds(&j->missing, ",\"why\":");
    add_text(&j->missing, why);
    buf_adds(&j->missing, "}");
}

trace_json *trace_json_begin(FILE *to, trace_window w)
{
    trace_json *j = xcalloc(1, sizeof *j);
    j->to = to;
    j->steps = w;
    fputs("{\"traceEvents\":[", to);
    return j;
}

void trace_json_end(trace_json **json)
{
    trace_json *j = *json;
    fprintf(j->to, "\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"schema\":1,\"begin\":%" PRId64, j->steps.begin);
    fprintf(j->to, ",\"end\":%" PRId64 ",\n\"tasks\":[%s],\n\"missing\":[%s]}}\n", j->steps.end,
            j->tasks.size ? j->tasks.data : "", j->missing.size ? j->missing.data : "");
    buf_fini(&j->tasks);
    buf_fini(&j->missing);
    free(j);
    *json = NULL;
}
