/*
 * The logs of a job's pods, followed by a `kubectl logs` each: shown as those of other targets are,
 * and kept in LOG_DIR/<role>.<index>.log.
 *
 * Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_KUBERNETES_POD_LOGS_H
#define TEQUIO_JOB_KUBERNETES_POD_LOGS_H

#include "job/kubernetes/kubectl.h"
#include "job/process/child.h"

#include <poll.h>

/* More pods at once are not followed. */
enum { POD_LOGS_MOST = 64 };

typedef struct pod_log {
    char *pod, *uid;
    char *waits;        /* what was said of it last */
    child child;        /* kubectl */
    bool is_open;
    bool is_closed;     /* and was so at the last look */
    int64_t heard_s;    /* when its last line came; 0: none has */
} pod_log;

typedef struct pod_logs {
    const kubernetes_options *o;
    const char *log_dir;
    pod_log at[POD_LOGS_MOST];
    int n;
} pod_logs;

/* Begins with the pods that are new, and again with those whose logs were cut off. E_IO. */
MUST_USE status pod_logs_follow(pod_logs *f, const kubectl_view *v, error *err);

/* Waits until a line comes, `fd` can be read, or the time is over, and takes what has come. */
void pod_logs_turn(pod_logs *f, int fd, int limit_ms);

/* Until all have said their last, at most so long. */
void pod_logs_drain(pod_logs *f, int limit_ms);
void pod_logs_fini(pod_logs *f);

#endif
