/*
 * What one process traced (common/live/trace.h), as it came to the master.
 *
 * Threads: belongs to its owner's.
 */
#ifndef TEQUIO_MASTER_PROFILE_SOURCE_H
#define TEQUIO_MASTER_PROFILE_SOURCE_H

#include "common/live/trace.h"
#include "common/wire/trace_wire.h"

typedef struct trace_source {
    Wire__Trace *about;             /* its first piece: who it is, clocks, names; without events */
    uint64_t left_out;
    recorder_event *events;
    size_t n, cap;
} trace_source;

/* The next piece, checked; `m` moves in. */
void trace_source_add(trace_source *s, Wire__Trace *m);
void trace_source_free(trace_source *s);

/* The task that had this role; of RECORDER_OF_ANY, or of one it does not tell, the first. "?": it told none. */
const char *trace_source_task(const trace_source *s, int of);
/* Whose messages have this number, as "ps.1"; "" where it is not known. */
const char *trace_source_peer(const trace_source *s, uint32_t number, char ret[TASK_NAME]);
/* NULL: it has no name. */
const char *trace_source_node(const trace_source *s, int32_t variant, int32_t node);

#endif
