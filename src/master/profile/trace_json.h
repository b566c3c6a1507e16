/*
 * Traces as JSON that Chrome's about:tracing and Perfetto read ("Trace Event Format"): a process a task, a thread a
 * lane and whatever else a task does, "X" an event with its begin and how long it took in microseconds of the master's
 * clock, "s" and "f" an arrow from a message that was sent to where it was received. `otherData` says which
 * steps, who told, how far clocks may be off, and who is missing.
 *
 * Of a thread events either contain each other or do not meet: what would cross goes into a further one.
 *
 * Threads: belongs to its owner's.
 */
#ifndef TEQUIO_MASTER_PROFILE_TRACE_JSON_H
#define TEQUIO_MASTER_PROFILE_TRACE_JSON_H

#include "master/profile/source.h"

#include <stdio.h>

typedef struct trace_json trace_json;

/* Writes its beginning. `to` stays the caller's; whether writing failed ferror tells. */
trace_json *trace_json_begin(FILE *to, trace_window steps);
/* Events that were written so far; of any thread. */
uint64_t trace_json_written(const trace_json *j);
void trace_json_add(trace_json *j, trace_source *s);        /* sorts its events */
void trace_json_miss(trace_json *j, const char *task, const char *why);
void trace_json_end(trace_json **j);

#endif
