/*
 * What a process of a job tells of itself over HTTP: its counters (common/live/counters.h) for Prometheus, and for who
 * watches over it whether its roles turn and are ready (common/live/pulse.h).
 *
 *   /metrics     every counter of its roles, with the labels `role` and `task`; memory, processor time, start
 *   /healthz     200: all its roles have turned within TASK_HANGS_S seconds, or do what may take long; else 503, and
 *                which has not
 *   /readyz      200: all its roles are at work; else 503, and which is not
 *
 * Threads: any.
 */
#ifndef TEQUIO_WATCH_METRICS_TASK_METRICS_H
#define TEQUIO_WATCH_METRICS_TASK_METRICS_H

#include "common/cluster/cluster.h"
#include "watch/http/server.h"

enum { TASK_HANGS_S = 10 };

typedef struct task_metrics {
    task tasks[ROLE_COUNT];     /* [n] the roles of this process, the first one's name is its own */
    size_t n;
} task_metrics;

void task_metrics_text(const task_metrics *m, int64_t now_us, buf *ret);

/* Answers without a token. */
extern const char *const task_metrics_open_paths[];

/* An http_handler; `user` is a task_metrics. */
void task_metrics_answer(void *user, const http_request *r, http_answer *ret);

#endif
