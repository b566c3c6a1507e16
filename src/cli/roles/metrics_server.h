/*
 * The HTTP server of a process that has roles (watch/metrics/task_metrics.h), where distributed.metrics says, or on
 * the socket that a launcher has opened for it (TEQUIO_METRICS_FD). Off the loopback interface /metrics needs a token,
 * which is derived from the job's key.
 *
 * A task of a cluster, which is started again where nobody looks, does not fail for want of it, but where a probe would
 * kill it without a word (TEQUIO_METRICS_PROBED, in pods).
 *
 * Threads: the main one.
 */
#ifndef TEQUIO_CLI_ROLES_METRICS_SERVER_H
#define TEQUIO_CLI_ROLES_METRICS_SERVER_H

#include "cli/roles/state.h"
#include "watch/metrics/task_metrics.h"

typedef struct metrics_server {
    task_metrics tells;
    http_server *server;    /* NULL: there is none */
} metrics_server;

/* E_CONFIG: of a process that is alone, or probed. */
MUST_USE status metrics_server_begin(const process *p, metrics_server *ret, error *err);
void metrics_server_end(metrics_server *s);

#endif
