/*
 * What each task of a local cluster is told: its place in the cluster and its environment.
 * Pure functions, except spec_open, which opens the listening sockets.
 */
#ifndef TEQUIO_JOB_SPEC_H
#define TEQUIO_JOB_SPEC_H

#include "common/cluster/cluster.h"
#include "job/local.h"

typedef struct spec_task {
    task task;
    int port, listen_fd;
} spec_task;

typedef struct spec {
    int n; /* tasks: master, ps, workers, evaluators */
    spec_task *tasks;
} spec;

MUST_USE status spec_open(const local_options *options, spec *ret, error *err);
void spec_close(spec *s); /* also what was only half opened */

/* TF_CONFIG of task i, as JSON; the caller frees it. */
char *spec_tf_config(const spec *s, int i);

/* `base` with the task's own variables in their places; free with spec_environment_free. */
char **spec_environment(const spec *s, int i, const local_options *options, char *const *base);
void spec_environment_free(char **e);

#endif
