/*
 * Sums of metrics: those of slots become those of steps and epochs. Pure; the accounting's arithmetic,
 * for what arrives and for what is read back from the journal alike.
 *
 * Reports come in any order and may come again; each slot of a step is taken once. Steps become
 * complete in their order, and the metrics of a step are added in the order of its slots, so the
 * sums are the same to the last bit whoever computed and reported what when.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MASTER_ACCOUNTING_METRIC_SUMS_H
#define TEQUIO_MASTER_ACCOUNTING_METRIC_SUMS_H

#include "common/parts/steps.h"
#include "metric/reports.h"
#include "metric/training_metrics.h"

enum { METRIC_SUMS_EPOCHS = 8 }; /* a checkpoint is fewer epochs behind the reports */

/* What the metrics of training counted in an epoch, as training_metrics_save has it. Borrowed. */
typedef struct epoch_counts {
    const void *at;
    size_t bytes; /* 0: nothing */
} epoch_counts;

/* All there is to know of the steps complete. */
typedef struct completed_steps {
    int64_t step;     /* so many are complete */
    int64_t examples; /* in them, over the job */
    int64_t lost;     /* slots in them whose reports are missing, and of the last one: */
    int64_t last_lost;
    metric_set last_step;
    metric_set epoch;                /* of the epoch under way, as far as it goes */
    metric_set epochs[METRIC_SUMS_EPOCHS]; /* [epoch % METRIC_SUMS_EPOCHS] of those complete */
    epoch_counts counts;             /* as `epoch`; only metric_sums_base tells it */
    epoch_counts epochs_counts[METRIC_SUMS_EPOCHS];
} completed_steps;

typedef struct metric_sums metric_sums;

/* `training` counts what slots count of the metrics of training, and is the sums' from now on; NULL: nobody does. */
metric_sums *metric_sums_create(const steps *s, const completed_steps *from, training_metrics *training);
void metric_sums_destroy(metric_sums **t);

/* The sums at a step of which nothing but its number is known. */
completed_steps completed_steps_at(const steps *s, int64_t step);

/* False: known already, of a step that is over, nonsense, or too far ahead of the oldest open step: it
 * is taken when that one is over. */
bool metric_sums_take(metric_sums *t, const slot_report *r);
/* The oldest open step, if it is complete or `anyway`, enters the sums. What is missing of a step
 * that enters anyway counts in its examples, for the weights have it, but not in its metrics. */
bool metric_sums_advance(metric_sums *t, bool anyway);

const completed_steps *metric_sums_completed(const metric_sums *t);
/* The same with `counts`, until the next call. */
const completed_steps *metric_sums_base(metric_sums *t);
/* The figures of the metrics of training over an epoch that is complete, one of the last few; false: nobody counts
 * them, or not all of its slots were counted by these metrics. */
bool metric_sums_figures(metric_sums *t, int64_t epoch, metric_figures *ret);
/* A step a report came for, the highest: all steps before it are in the weights. -1: none. */
int64_t metric_sums_highest(const metric_sums *t);
bool metric_sums_has(const metric_sums *t, int64_t step, uint32_t slot);
/* The reports taken of steps not complete: *at counts them from 0; false: no more. What they counted is borrowed. */
bool metric_sums_next_open(const metric_sums *t, size_t *at, slot_report *ret);

#endif
