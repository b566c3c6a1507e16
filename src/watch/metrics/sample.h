/*
 * Samples in Prometheus's text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Pure functions.
 */
#ifndef TEQUIO_WATCH_METRICS_SAMPLE_H
#define TEQUIO_WATCH_METRICS_SAMPLE_H

#include "common/base/buf.h"

#define SAMPLE_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef struct sample_label {
    const char *name, *value;
} sample_label;

/* Stands above the samples of that name. `type` is counter or gauge. */
void sample_head(const char *name, const char *type, const char *help, buf *ret);
void sample_add(const char *name, const sample_label *labels, size_t n, double value, buf *ret);

#endif
