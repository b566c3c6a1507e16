/*
 * The ledger: what the slots reported, step by step, and the files that tell people about it.
 *
 * A step is complete when every slot has reported; its metrics are added in slot order, so they do
 * not depend on who computed what. Every save_summary_steps steps and at every epoch's end a line
 * goes to metrics.jsonl and scalars go to the event file.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_LEDGER_H
#define TEQUIO_MASTER_LEDGER_H

#include "common/parts/steps.h"
#include "common/store/events.h"
#include "common/store/jobdir.h"
#include "metric/metric.h"
#include "optim/schedule.h"

typedef struct ledger ledger;

typedef struct ledger_options {
    const jobdir *dir;
    steps steps;
    schedule schedule;
    int64_t summary_steps;          /* >= 1 */
} ledger_options;

typedef struct ledger_totals {
    int64_t step;                   /* steps complete */
    int64_t examples, seen;         /* over the job; since this start */
    double wall_s;                  /* since this start */
    metric_set last_step, epoch, last_epoch;
    double examples_per_s;          /* over the last seconds */
} ledger_totals;

/* Continues at `step`: lines of later steps leave metrics.jsonl. */
MUST_USE status ledger_open(const ledger_options *options, int64_t step, ledger **ret, error *err);
void ledger_close(ledger **l);
MUST_USE status ledger_rewind(ledger *l, int64_t step, error *err);

/* One slot's report. *ret_steps: how many steps became complete by it. */
MUST_USE status ledger_report(ledger *l, int64_t step, uint32_t slot, const metric_set *m,
                              int64_t examples, int64_t *ret_steps, error *err);

const ledger_totals *ledger_totals_of(const ledger *l);
/* Training metrics of an epoch, one of the last few; as far as they go if it is not complete. */
const metric_set *ledger_epoch(const ledger *l, int64_t epoch);
events *ledger_events(ledger *l);

/* Which slots of the oldest incomplete step have reported: [per_step]. */
const bool *ledger_open_step(const ledger *l);
/* That slot's report was counted, or is no longer of interest. */
bool ledger_has(const ledger *l, int64_t step, uint32_t slot);
/* Slots of the oldest incomplete step that did not report, as text. */
void ledger_missing(const ledger *l, char *ret, size_t bytes);

#endif
