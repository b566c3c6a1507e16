/*
 * The accounting of training: what the slots reported, step by step, and the files that tell people
 * about it.
 *
 * A step is complete when every slot has reported (metric_sums.h). Every save_summary_steps steps, at the
 * first and the last step and at every epoch's end a line goes to metrics.jsonl and scalars go to the
 * event file. Each report is in the journal (journal.h) before anything follows from it.
 *
 * Opened again, after a rollback or by another master, it is as it was: the sums come from the
 * journal, the files lose what was told of steps that are computed again, and nothing is told
 * twice.
 *
 * Threads: belongs to the master's thread.
 */
#ifndef TEQUIO_MASTER_ACCOUNTING_ACCOUNTING_H
#define TEQUIO_MASTER_ACCOUNTING_ACCOUNTING_H

#include "common/parts/steps.h"
#include "common/store/events.h"
#include "common/store/jobdir.h"
#include "metric/metrics.h"
#include "metric/reports.h"
#include "optim/lr_sequence.h"

typedef struct accounting accounting;

typedef struct accounting_options {
    const jobdir *dir;
    steps steps;
    lr_sequence rates;
    uint32_t (*reductions)(const void *of, int64_t step); /* of rates before a step; NULL: none */
    const void *reductions_of;                            /* kept until accounting_close */
    int64_t summary_steps; /* >= 1 */
    int64_t total;         /* the step after the last one */
    const void *recipe;    /* of the metrics of training (metric/training_metrics.h), while it is opened */
    size_t recipe_bytes;   /* 0: nobody counts them */
    int64_t behind;        /* checkpoints so many steps before the newest are kept, and may be gone back to */
} accounting_options;

typedef struct accounting_totals {
    int64_t step;           /* steps complete */
    int64_t examples;       /* over the job */
    double wall_s;          /* of all starts, as far as metrics.jsonl tells of earlier ones, */
    int64_t seen;           /* with so many examples */
    int64_t lost;           /* slots that count and whose metrics are missing, */
    int64_t last_lost;      /* of the last step */
    metric_set last_step, epoch, last_epoch;
    double first_loss;      /* of the first step of the job; NaN: not known */
    int64_t first_examples; /* that it is the mean of */
    double examples_per_s; /* over the last seconds */
} accounting_totals;

/* Goes on at version `step`, with the newest checkpoint at `saved` <= step: steps from `step` on
 * are computed again, so what was reported and told of them is forgotten. Steps in between are in
 * the weights; those whose reports are not in the journal stay open until they are said again. */
MUST_USE status accounting_open(const accounting_options *options, int64_t saved, int64_t step,
                            accounting **ret, error *err);
void accounting_close(accounting **l);

/* Before it is opened: the highest step the journal knows of, -1: none. All of its version was
 * answered to somebody. */
MUST_USE status accounting_told(const jobdir *dir, int64_t *ret, error *err);

/* One slot's report; one that is too far ahead of the oldest open step is left to be said again.
 * Returns how many steps became complete by it. */
int64_t accounting_report(accounting *l, const slot_report *r);
/* No report of a step before `until` will come any more: those open go into the accounts without what
 * is missing. The same. */
int64_t accounting_settle(accounting *l, int64_t until);
/* Steps before this one are in the weights, as far as reports tell: all parts were received at this
 * version by somebody. */
int64_t accounting_applied(const accounting *l);

/* What the disk does not take waits in memory, in bytes; all of it is told once it can be written. Reports
 * of steps before accounting_recorded outlive the master, whatever waits. */
size_t accounting_waiting(const accounting *l);
int64_t accounting_recorded(const accounting *l);
/* Writes what waits. E_DISK, E_IO: it waits on. */
MUST_USE status accounting_flush(accounting *l, error *err);
/* What was reported outlives the machine from now on. */
MUST_USE status accounting_sync(accounting *l, error *err);
/* A checkpoint is committed, and of those that are kept the oldest is at `step`: nobody goes back beyond
 * that. */
MUST_USE status accounting_saved(accounting *l, int64_t step, error *err);

double accounting_rate(const accounting *l); /* the learning rate of the last step that is complete */

const accounting_totals *accounting_totals_of(const accounting *l);
/* Training metrics of an epoch, one of the last few; as far as they go if it is not complete. */
const metric_set *accounting_epoch(const accounting *l, int64_t epoch);
/* Those that slots counted, over one that is complete; false: there are none, or not of all of its batches. */
bool accounting_epoch_figures(accounting *l, int64_t epoch, metric_figures *ret);
events *accounting_events(accounting *l);

/* Slots of the oldest incomplete step that did not report, as text. */
void accounting_missing(const accounting *l, char *ret, size_t bytes);

#endif
