/*
 * What each task of a local cluster is told: its place in the cluster and its environment.
 * Pure functions, except roster_open, which opens the listening sockets.
 */
#ifndef TEQUIO_JOB_ROSTER_H
#define TEQUIO_JOB_ROSTER_H

#include "common/cluster/cluster.h"
#include "job/local.h"

typedef struct roster_task {
    task task;
    const char *host; /* NULL: PORTS_HOST */
    int port, listen_fd;
} roster_task;

typedef struct roster {
    int n; /* tasks: master, ps, workers, evaluators */
    roster_task *tasks;
    const char *primary; /* what TF_CONFIG calls the master */
    char *cluster;       /* TF_CONFIG's field of that name, made when first asked for */
} roster;

/* As it would be opened, but nobody listens yet: listen_fd is -1, a port that the kernel would choose 0. */
void roster_plan(const local_options *options, roster *ret);
MUST_USE status roster_open(const local_options *options, roster *ret, error *err);
void roster_close(roster *s); /* also what was only half opened */

/* TF_CONFIG of task i, as JSON; the caller frees it. Addresses must be known by now. */
char *roster_tf_config(roster *s, int i);

/* `base` with the variables of the task's `life`, counted from 1, in their places; free with
 * roster_environment_free. */
char **roster_environment(roster *s, int i, int life, const local_options *options,
                          char *const *base);
void roster_environment_free(char **e);

#endif
