/*
 * Reports: what the evaluator leaves in JOB_DIR/eval. Every function reads or writes the folder
 * itself, so that an evaluator started again knows as much as one that ran on.
 * Threads: one at a time.
 */
#ifndef TEQUIO_EVALUATOR_REPORT_H
#define TEQUIO_EVALUATOR_REPORT_H

#include "common/store/events.h"
#include "common/store/jobdir.h"
#include "metric/metric.h"
#include "metric/metrics.h"

typedef struct report {
    int64_t step, epochs_done;
    bool final;
    metric_set metrics;
    metric_figures figures; /* whose owner frees them */
    int64_t examples;
    double seconds;
    bool in_events; /* report_write has been so far */
} report;

/* Is there one for the step, and was its checkpoint known to be the final one? */
bool report_exists(const jobdir *d, int64_t step);
bool report_is_final(const jobdir *d, int64_t step);

/* Opens *log at the first call; the caller closes it. step-N.json is written last. E_DISK, E_IO: it
 * may be called again, also by an evaluator that starts anew; every line and point is told once.
 * What was told of steps that have no report any more, because the job went back, is forgotten. */
MUST_USE status report_write(const jobdir *d, report *r, events **log, error *err);

#endif
