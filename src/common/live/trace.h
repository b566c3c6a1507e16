/*
 * The trace of this process: what the recorder (recorder.h) notes of a window of steps (distributed.profile), kept
 * whole instead of the newest alone, and with it what is noted in a trace only, single nodes. Afterwards the master
 * asks for it piece by piece (TRACE), and makes one file of those of all tasks.
 *
 * Outside of the window a trace costs a comparison. It is bounded by TRACE_BYTES; what came after is counted.
 *
 * Threads: trace_open before others run; the rest any, under a lock.
 */
#ifndef TEQUIO_COMMON_LIVE_TRACE_H
#define TEQUIO_COMMON_LIVE_TRACE_H

#include "common/base/error.h"
#include "common/cluster/cluster.h"
#include "common/live/recorder.h"

enum { TRACE_BYTES = 64 << 20, TRACE_PIECE = 4096 /* events */, TRACE_NAMES = 512 << 10 /* bytes */,
       TRACE_NAME_MORE = 4 /* of each, beside its text */,
       TRACE_PIECES = TRACE_BYTES / (TRACE_PIECE * (int)sizeof(recorder_event)) };

/* Steps from begin to before end. */
typedef struct trace_window {
    int64_t begin, end;
} trace_window;

/* Of "10:20". E_CONFIG. */
MUST_USE status trace_window_read(const char *text, trace_window *ret, error *err);

extern trace_window trace_steps;    /* for trace_wants; empty: nothing is traced */

static inline bool trace_wants(int64_t step)
{
    return (uint64_t)step - (uint64_t)trace_steps.begin < (uint64_t)(trace_steps.end - trace_steps.begin);
}

static inline bool trace_wants_any(void)
{
    return trace_steps.end > trace_steps.begin;
}

void trace_open(trace_window w);    /* of none: nothing is traced */
void trace_close(void);             /* forgets all of it */

/* A task that this process is, under that name. */
void trace_task(role r, const char *name);

/* Of a step that is wanted. */
void trace_note(const recorder_event *e);
/* Keeps it if it is of such a step, or of none and noted among those that are. Of messages those that name a step. */
void trace_offer(const recorder_event *e);

/* EVENT_NODE or EVENT_DEVICE_NODE: `c` holds the nanoseconds of what it took, and of its end those beyond at_us. */
static inline bool trace_is_node(recorder_kind kind)
{
    return kind == EVENT_NODE || kind == EVENT_DEVICE_NODE;
}
static inline recorder_event trace_node_event(recorder_kind kind, int64_t begin_ns, int64_t end_ns)
{
    return (recorder_event){.kind = kind, .at_us = end_ns / 1000, .took_us = end_ns / 1000 - begin_ns / 1000,
                            .c = (end_ns - begin_ns) | (end_ns % 1000) << 48};
}
static inline double trace_node_took_us(const recorder_event *e)
{
    return (double)(e->c & ((INT64_C(1) << 48) - 1)) * 1e-3;
}
static inline double trace_node_end_us(const recorder_event *e)
{
    return (double)e->at_us + (double)(e->c >> 48) * 1e-3;
}

/* How the nodes of a variant of the model are called: events of nodes have their numbers. Only the first time
 * counts. */
typedef const char *trace_name(const void *of, int32_t node);
void trace_nodes(int32_t variant, int32_t n, trace_name *name, const void *of);

/* --- what is kept, for common/wire/trace_wire.h --- */

/* Several tasks may be one process, of which one tells for all: the first that is asked. */
bool trace_speaks(role r);
typedef struct trace_self {
    role role;
    char name[TASK_NAME];
} trace_self;
size_t trace_tasks(trace_self ret[ROLE_COUNT]);
size_t trace_count(void);
uint64_t trace_left_out(void);
/* Of those from `from` on so many, `most` at most. */
size_t trace_read(size_t from, size_t most, recorder_event *ret);

typedef struct trace_variant {
    int32_t number, n;
    char **names;                   /* [n]; they stay until trace_close */
} trace_variant;
enum { TRACE_VARIANTS = 64 };       /* of more nodes have numbers alone */
size_t trace_variants(trace_variant ret[TRACE_VARIANTS]);

#endif
