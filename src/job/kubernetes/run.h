/*
 * A job given to a cluster by kubectl: its manifest is applied, its pods' logs are followed, and
 * when it has ended, or is to end, its objects are removed. Claims stay.
 *
 * Threads: the launcher's only one.
 */
#ifndef TEQUIO_JOB_KUBERNETES_RUN_H
#define TEQUIO_JOB_KUBERNETES_RUN_H

#include "job/kubernetes/manifest.h"

typedef struct kubernetes_launch {
    const kubernetes_options *manifest;
    const char *key;     /* NULL: the connections need none */
    const char *log_dir; /* absolute; must be there. The manifest goes there too, without the key */
    bool waits;          /* for the end */
} kubernetes_launch;

/* Returns the exit code: the master's, or that of the task that failed, with the story in `err`.
 * SIGINT and SIGTERM tell all pods to leave, after a checkpoint (143), a second one kills them.
 * What kubectl refuses is E_FAIL in its words; without kubectl the manifest is written all the
 * same. */
int kubernetes_run(const kubernetes_launch *l, error *err);

#endif
