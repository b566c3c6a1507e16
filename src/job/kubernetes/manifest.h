/*
 * A job as Kubernetes takes it: a TFJob of Kubeflow's training operator, or, for clusters without
 * it, plain Jobs that know each other's names.
 *
 * Both have the same pods: the container `tensorflow` runs `tequio train` with the resolved
 * configuration of a ConfigMap, listens on port 2222, asks for the machine type's share of a node
 * and its GPUs, and has time for a checkpoint when it is told to leave. Exit codes below 128 end
 * the job, the others start the pod again. The operator tells the tasks their TF_CONFIG; the plain
 * Jobs have it written out, with the names of one headless Service.
 *
 * The key of the connections is no part of the manifest, which may lie anywhere: it is a Secret of
 * its own, of the same name.
 *
 * Threads: pure functions.
 * Source: training-operator v1.9 (kubeflow.org/v1), Kubernetes v1.29 (batch/v1), GKE's labels of
 * nodes.
 */
#ifndef TEQUIO_JOB_KUBERNETES_MANIFEST_H
#define TEQUIO_JOB_KUBERNETES_MANIFEST_H

#include "job/kubernetes/claim.h"
#include "job/spec/job.h"

#define KUBERNETES_CONFIG  "/run/tequio/config.json" /* among arguments, and there it is in a pod */
#define KUBERNETES_JOB_DIR "/job"                    /* where the claim of a job's own is in a pod */

#define KUBERNETES_INSTANCE  "app.kubernetes.io/instance"  /* labels: the job's name */
#define KUBERNETES_COMPONENT "app.kubernetes.io/component" /* and the role's */

enum { KUBERNETES_PORT = 2222, CONFIG_MAP_BYTES = 1 << 20 };

typedef struct kubernetes_options {
    const job *job;
    const char *name;               /* of all that is made, and the start of the pods' names */
    const char *namespace;          /* NULL: the one that kubectl is set to */
    const char *image;              /* NULL: the ones of the job's roles */
    const char *primary;            /* "chief" or "master" */
    const char *const *arguments;   /* of every task; NULL at the end */
    const char *config;             /* what KUBERNETES_CONFIG holds */
    const char *job_dir;            /* in the pods, absolute */
    const kubernetes_claim *claims; /* that are there */
    int metrics_port;               /* where pods can be asked how they are (distributed.metrics); 0: nowhere */
    bool plain_jobs;                /* no operator is needed */
    bool any_gpu;                   /* nodes need not say the type of their GPUs as GKE does */
    bool is_secured;                /* there will be the Secret */
    const char *trial;              /* of a search, which the job is; NULL: it is none */
    int grace_s;                    /* from SIGTERM to SIGKILL */
    int max_restarts;               /* of a task; the operator counts otherwise */
} kubernetes_options;

/* The job's name as Kubernetes has names: "Fashion_MNIST" is "fashion-mnist", and its trial 7, if
 * `trial` is not NULL, "fashion-mnist-7". E_CONFIG if names of pods would be too long. */
MUST_USE status kubernetes_name(const job *j, const char *trial, char ret[KUBERNETES_NAME], error *err);

/* Appends it, as YAML. E_CONFIG for what Kubernetes would not take. */
MUST_USE status kubernetes_manifest(const kubernetes_options *o, buf *ret, error *err);

/* Appends the Secret, with the key as text. */
void kubernetes_secret(const kubernetes_options *o, const char *key, buf *ret);

/* What a role is called in TF_CONFIG, and so among the pods. */
const char *kubernetes_role(const kubernetes_options *o, role r);

/* By what name the others know a task; "NAMESPACE" stands in it for one that only the cluster
 * knows. */
const char *kubernetes_host(const kubernetes_options *o, task t, arena *memory);

#endif
