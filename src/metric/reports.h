/*
 * Reports: what slots measured, kept until the master has it in its journal.
 *
 * A worker says a report when its slot is measured, to the master and, in front of the gradient of
 * the reporting part (flat_reporting_part), to the server that sums it. That server keeps it too, and
 * so does its standby: so whatever is in the weights, its report is held by somebody who lives. Who
 * keeps reports says them again on a new connection, in a new era, and when the master says twice
 * without them how far its accounts are complete: no message is assumed to arrive, and the master takes
 * each slot of a step once.
 *
 * Memory is taken ahead and grows only while the master is away.
 *
 * Threads: belongs to one thread, the worker's or the server's.
 */
#ifndef TEQUIO_METRIC_REPORTS_H
#define TEQUIO_METRIC_REPORTS_H

#include "common/base/span.h"
#include "common/wire/wire.h"
#include "metric/metric.h"

/* What one slot measured. Who has it by itself ends it with slot_report_fini. */
typedef struct slot_report {
    int64_t step, examples;
    uint32_t slot;
    int32_t lane;   /* who computed it, ... */
    double seconds; /* ... and how long: of interest only while it is fresh */
    metric_set metrics;
    span *counts;   /* of the metrics of training (training_metrics.h), held; NULL: none are counted */
} slot_report;

/* The same once more, with a hold of its own. */
slot_report slot_report_copy(const slot_report *r);
void slot_report_fini(slot_report *r);

typedef struct reports reports;

reports *reports_create(void);
void reports_destroy(reports **r);

/* What a REPORT of that slot says; metrics unknown here are left out. The caller ends it. */
slot_report reports_read(const Wire__Report *m, int64_t step, uint32_t slot);

/* Says one: the payload of a REPORT of slot `slot` of step `step`. */
typedef status reports_say_fn(void *user, int64_t step, uint32_t slot,
                              const ProtobufCMessage *payload, error *err);

/* Says what was measured, and keeps nothing. */
MUST_USE status reports_say(const slot_report *measured, reports_say_fn *say, void *user, error *err);

/* It is kept, and said unless `say` is NULL. Of a slot whose report is kept this one takes the place. */
MUST_USE status reports_add(reports *r, const slot_report *measured, reports_say_fn *say, void *user,
                            error *err);
/* All kept are said, the oldest first. */
MUST_USE status reports_say_all(reports *r, reports_say_fn *say, void *user, error *err);

/* Of the slots from `first` to before `end` of a step: whether all are kept; those that are, said. */
bool reports_have(const reports *r, int64_t step, uint32_t first, uint32_t end);
MUST_USE status reports_say_of(const reports *r, int64_t step, uint32_t first, uint32_t end,
                               reports_say_fn *say, void *user, error *err);

/* All of step `step` go to another, as of step `as`. */
void reports_move(reports *from, int64_t step, reports *to, int64_t as);

/* The master's accounts are complete below `step`: what is of a step below `until` <= step too goes, and
 * what the master should have by now is said again. */
MUST_USE status reports_recorded(reports *r, int64_t step, int64_t until, reports_say_fn *say, void *user,
                                 error *err);
/* An era begins at `step`: what comes from there on is computed, and measured, again. */
void reports_begin(reports *r, int64_t step);
/* Another master may lead: what it has not recorded when it next speaks of its accounts is said then. */
void reports_renew(reports *r);
void reports_clear(reports *r);

#endif
