/*
 * Metrics that merge: each is a sum and a count in double, so any split of the examples over lanes
 * and batches gives the same value once the parts are added in batch order.
 * Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_METRIC_H
#define TEQUIO_METRIC_METRIC_H

#include "common/base/error.h"

#include <stdint.h>

enum { METRIC_COUNT_MAX = 8 };

typedef struct metric_value {
    const char *name;               /* "loss", "accuracy"; static or longer-lived than the set */
    double sum, count;
} metric_value;

typedef struct metric_set {
    metric_value at[METRIC_COUNT_MAX];
    size_t n;
} metric_set;

/* The lasting name of a metric that came from elsewhere; NULL: Tequio has none of that name. */
const char *metric_known(const char *name);

void metric_reset(metric_set *m);
void metric_add(metric_set *m, const char *name, double sum, double count);
void metric_merge(metric_set *into, const metric_set *from);
/* Without what is said of a step and has no meaning of many: "loss_scale", "skipped_steps". */
void metric_merge_lasting(metric_set *into, const metric_set *from);
/* The mean; of "perplexity", to which losses are added, e to the power of it. NaN when absent or
 * count 0. */
double metric_result(const metric_set *m, const char *name);

#endif
