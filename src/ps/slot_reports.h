/*
 * What slots measured, kept with the part that it travels with (flat_reporting_part).
 *
 * Threads: belongs to the server's thread.
 */
#ifndef TEQUIO_PS_SLOT_REPORTS_H
#define TEQUIO_PS_SLOT_REPORTS_H

#include "common/wire/wire.h"
#include "metric/reports.h"
#include "ps/standby_link.h"

typedef struct ps ps;

typedef struct slot_reports {
    reports *beside;                /* what came, and is not applied */
    reports *applied;               /* what is, by the versions it made */
    int64_t copied;                 /* version of the part that came as a copy, without what was measured
                                     * before; 0: it did not, or the master has that */
} slot_reports;

MUST_USE status ps_take_report(ps *s, const wire_head *h, const Wire__Report *m, error *err);
/* A push that would be summed, and of whose slots not all is told: it comes again. */
bool ps_lacks_reports(const ps *s, const wire_head *h);
/* The replicator's hook: the sum of the part they travel with is about to be sent. */
void ps_on_sum_sent(void *user, int64_t step, uint32_t n_slots, const standby_link *to);
MUST_USE status ps_take_reported(ps *s, const wire_head *h, error *err);
/* A copy of a part is complete. */
void ps_note_copied(ps *s, int32_t part, int64_t version);
/* Of a shard, as far as it is here: may another master rely on it? */
bool ps_is_reported(const ps *s, int32_t shard);
/* A version of a part was made. */
MUST_USE status ps_note_applied(ps *s, int32_t part, int64_t version, error *err);
void ps_keep_reports(ps *s);    /* in an era that begins with what is held; another master may lead */
void ps_drop_reports(ps *s);

#endif
