/*
 * When a device computed the nodes of a run, on the host's clock.
 *
 * Each node has a stopwatch (node_times.h), and so has the run: it is started in front of all, and stopped when the
 * device has nothing left to do. The device starts it no earlier than the host has said so, and stops it after the
 * host has said so and before the host sees it. So its clock is placed on the host's as far as these three moments
 * leave it open: a few microseconds as a rule. No node of a run is placed in front of the run, none behind it, but by
 * what the two clocks part in it.
 *
 * Threads: the exec's.
 */
#ifndef TEQUIO_EXEC_DEVICE_TRACE_H
#define TEQUIO_EXEC_DEVICE_TRACE_H

#include "exec/exec.h"
#include "exec/variant.h"

typedef struct device_trace {
    backend_stopwatch *run; /* NULL: no run is traced */
    int64_t said_ns;        /* the host's clock, just before it said that the run's is to be started */
} device_trace;

MUST_USE status device_trace_create(exec *e, error *err);
void device_trace_destroy(exec *e);

MUST_USE status device_trace_begin(exec *e, error *err);
/* Behind a run that has ended, and whose nodes were timed: tells of it. */
MUST_USE status device_trace_end(const exec *e, const variant *v, const exec_trace *to, error *err);

#endif
