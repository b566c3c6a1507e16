/*
 * The tool kubectl, and what it says of a job: one short command after another.
 *
 * All objects of a job but its claims have the label KUBERNETES_INSTANCE, and are looked for and
 * removed by it. Claims stay: they hold what was trained.
 *
 * Threads: the launcher's only one, which waits for the command.
 * Source: kubectl's reference; the status of training-operator's and batch/v1's jobs.
 */
#ifndef TEQUIO_JOB_KUBERNETES_KUBECTL_H
#define TEQUIO_JOB_KUBERNETES_KUBECTL_H

#include "job/kubernetes/manifest.h"

typedef struct kubectl_pod {
    task task;
    const char *name, *uid; /* one that is started again has another uid */
    bool has_begun;
    int exit_code;          /* -1: it has none yet */
    const char *waits;      /* why it does not begin, "ErrImagePull: ..."; "": nothing is said */
} kubectl_pod;

typedef struct kubectl_view {
    kubectl_pod *pods;
    int n_pods;
    bool is_there;          /* the job */
    bool is_done;           /* its master has ended well */
    const char *failure;    /* why it has failed; NULL: it has not */
} kubectl_view;

/* A pod of a job, as one looks for it from elsewhere, by its name alone. */
typedef struct kubectl_found {
    task task;
    const char *name, *phase;   /* "Running" */
    const char *job_dir;        /* in the pod; NULL: its arguments name none */
} kubectl_found;

/* What is made by a manifest, but claims, as kubectl's words for kinds. */
const char *kubectl_kinds(const kubernetes_options *o);

/* E_FAIL in kubectl's words, E_IO where it is not there. */
MUST_USE status kubectl_apply(const kubernetes_options *o, const char *manifest, error *err);
/* Of `o` only name and namespace count. In the arena; none is no error. */
MUST_USE status kubectl_find(const kubernetes_options *o, arena *memory, kubectl_found **ret, int *ret_n, error *err);
MUST_USE status kubectl_look(const kubernetes_options *o, arena *memory, kubectl_view *ret, error *err);

/* A pod of its own: it is ready; it is gone, if it was there; a file that it sees is written to `to`, by a command
 * `tequio task` in it, as process/sent_file.h has it. */
MUST_USE status kubectl_await_pod(const kubernetes_options *o, const char *name, error *err);
MUST_USE status kubectl_remove_pod(const kubernetes_options *o, const char *name, error *err);
MUST_USE status kubectl_fetch(const kubernetes_options *o, const char *name, const char *file, int to, error *err);

/* Removes the job; pods are told to leave, and it returns when they have, if it `waits`. */
MUST_USE status kubectl_delete(const kubernetes_options *o, bool waits, error *err);
MUST_USE status kubectl_kill_pods(const kubernetes_options *o, error *err);

/* "app.kubernetes.io/instance=seed" in the arena */
const char *kubectl_selector(const kubernetes_options *o, arena *memory);

#endif
