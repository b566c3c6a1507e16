/*
 * What a lane counts of the metrics of training (metric/training_metrics.h): the labels of a batch are kept beside the
 * engine, whose inputs may be the next batch's by then, and the scores are read once forward is over.
 *
 * Threads: the lane's.
 */
#ifndef TEQUIO_WORKER_LANE_METRICS_H
#define TEQUIO_WORKER_LANE_METRICS_H

#include "common/base/span.h"
#include "exec/exec.h"
#include "worker/variants.h"

typedef struct lane_metrics lane_metrics;

/* NULL in *ret: nothing is counted. */
MUST_USE status lane_metrics_open(const config *c, const variants *v, lane_metrics **ret, error *err);
void lane_metrics_close(lane_metrics **m);

/* A batch of `from` is filled in, which will be computed next: its labels are copied, as the device will see them. */
void lane_metrics_fill(lane_metrics *m, const loader *from, const data_batch *batch);
/* It begins. */
void lane_metrics_begin(lane_metrics *m);
/* What it counts, held; `e` has computed its scores by graph `variant`. E_DATA, E_NOMEM. */
MUST_USE status lane_metrics_count(lane_metrics *m, exec *e, size_t variant, span **ret, error *err);

#endif
