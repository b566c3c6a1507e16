/*
 * What a process traced (common/live/trace.h) as the message TRACE tells it.
 *
 * Threads: functions without shared state, but for the trace's own.
 */
#ifndef TEQUIO_COMMON_WIRE_TRACE_WIRE_H
#define TEQUIO_COMMON_WIRE_TRACE_WIRE_H

#include "common/wire/wire.h"

/* The answer of role `r` of this process; a piece beyond the last is empty. Release with trace_wire_clear. */
void trace_wire_fill(const Wire__Trace *asked, role r, Wire__Trace *ret);
void trace_wire_clear(Wire__Trace *m);

/* E_PROTOCOL: no answer that a task of this version gives. */
MUST_USE status trace_wire_check(const Wire__Trace *m, error *err);

#endif
