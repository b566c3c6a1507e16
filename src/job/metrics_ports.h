/*
 * Where the tasks of a local cluster serve their figures: sockets that the launcher opens for them, so that a task
 * that is started again keeps its address; and a file that tells Prometheus where they are, in the form of its
 * file_sd_configs.
 *
 * Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_METRICS_PORTS_H
#define TEQUIO_JOB_METRICS_PORTS_H

#include "job/roster.h"

#define METRICS_PORTS_FILE "prometheus.json"

/* Each task's metrics_fd, at `place` (watch/http/listen.h) and the ports that follow, in the order of the roster; NULL:
 * nothing is opened. E_CONFIG: one is in use, or there are not so many. roster_close closes them. */
MUST_USE status metrics_ports_open(const char *place, roster *tasks, error *err);

/* Writes LOG_DIR/prometheus.json, if they are open; a file that cannot be written is warned of. */
void metrics_ports_tell(const roster *tasks, const char *log_dir);
/* Removes it: nobody is there any more. */
void metrics_ports_forget(const roster *tasks, const char *log_dir);

#endif
