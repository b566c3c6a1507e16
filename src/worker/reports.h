/*
 * Reports: what lanes measured in their slots, kept until the master has it in its journal.
 *
 * A report is said when its slot is measured, and again on a new connection, in a new era, and when
 * the master says twice without it how far its books are complete: no message is assumed to arrive,
 * and the master takes each slot of a step once.
 *
 * Memory is taken ahead and grows only while the master is away.
 *
 * Threads: belongs to the worker's thread.
 */
#ifndef TEQUIO_WORKER_REPORTS_H
#define TEQUIO_WORKER_REPORTS_H

#include "common/wire/wire.h"
#include "worker/board.h"

typedef struct reports reports;

reports *reports_create(void);
void reports_destroy(reports **r);

/* Says one: the payload of a REPORT of slot `slot` of step `step`. */
typedef status reports_say_fn(void *user, int64_t step, uint32_t slot,
                              const ProtobufCMessage *payload, error *err);

/* Says what was measured, and keeps nothing. */
MUST_USE status reports_say(const note *measured, reports_say_fn *say, void *user, error *err);

/* A slot is measured: it is kept, and said unless `say` is NULL. */
MUST_USE status reports_add(reports *r, const note *measured, reports_say_fn *say, void *user,
                            error *err);
/* All kept are said, the oldest first. */
MUST_USE status reports_say_all(reports *r, reports_say_fn *say, void *user, error *err);

/* The master's books are complete below `step`; what it should have by now is said again. */
MUST_USE status reports_booked(reports *r, int64_t step, reports_say_fn *say, void *user,
                               error *err);
/* An era begins at `step`: what comes from there on is computed, and measured, again. */
void reports_begin(reports *r, int64_t step);

size_t reports_count(const reports *r);

#endif
