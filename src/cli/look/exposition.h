/*
 * Jobs as Prometheus reads them: its text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Names have units and counters end with _total, as its
 * conventions want; labels are the run (its job dir), a task and a metric, so there are as many series as a job has
 * tasks and metrics. What is not known has no sample. Pure functions.
 */
#ifndef TEQUIO_CLI_LOOK_EXPOSITION_H
#define TEQUIO_CLI_LOOK_EXPOSITION_H

#include "cli/look/job_view.h"

/* `dirs` and `views` are [n]; of a job that cannot be read the view is empty; `now`: seconds since 1970. */
void exposition_text(char *const *dirs, const job_view *views, size_t n, double now, buf *ret);

#endif
