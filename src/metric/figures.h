/*
 * What an evaluation, or an epoch of training, found, as JSON: means (metric.h) and the figures of listed metrics. A
 * figure takes the place of a mean of its name.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_FIGURES_H
#define TEQUIO_METRIC_FIGURES_H

#include "metric/metric.h"
#include "metric/metrics.h"

#include <jansson.h>

/* Numbers, lists of numbers and lists of lists; null for what is not finite. */
void figures_put(json_t *into, const metric_set *means, const metric_figures *figures);

/* " loss=0.12000 accuracy=0.90000", for logs. */
void figures_say(const metric_set *means, const metric_figures *figures, buf *to);

/* Calls `take` for each that is a single number. */
typedef void figures_taker(void *user, const char *name, double value);
void figures_each_number(const metric_set *means, const metric_figures *figures, figures_taker *take, void *user);

#endif
