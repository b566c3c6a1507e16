/*
 * Metrics and what they are of, as bytes for another process: options and source.
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_RECIPE_H
#define TEQUIO_METRIC_RECIPE_H

#include "common/base/alloc.h"
#include "metric/metrics.h"

void recipe_write(const metric_options *options, size_t n, const metric_source *source, buf *to);

typedef struct recipe {
    metric_options *options;
    size_t n;
    metric_source source;
} recipe;

/* What it points to lies in `a`. E_PROTOCOL: these bytes are none. */
MUST_USE status recipe_read(const void *bytes, size_t n, arena *a, recipe *ret, error *err);

#endif
