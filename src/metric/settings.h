/*
 * The metrics that a configuration lists as `model.metrics` or `trainer.metrics`, as metrics_open takes them.
 * Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_SETTINGS_H
#define TEQUIO_METRIC_SETTINGS_H

#include "common/config/config.h"
#include "metric/metrics.h"

typedef struct metric_settings metric_settings;

/* Of a whole configuration, which it borrows from. */
metric_settings *metric_settings_create(const config *c);
void metric_settings_destroy(metric_settings **s);

const metric_options *metric_settings_options(const metric_settings *s, size_t *ret_n);
/* The names of all numbers that these give whatever the data (metrics_names). Borrowed. */
const char *const *metric_settings_names(const metric_settings *s, size_t *ret_n);
/* The key that lists them, for messages. */
const char *metric_settings_key(const metric_settings *s);

#endif
