/*
 * A cluster from its JSON description. TF_CONFIG, and CLUSTER_SPEC with other names for the same
 * roles; Slurm, SageMaker and ranks are first turned into such a description, so that one set of
 * rules and messages serves all. Pure functions.
 */
#ifndef TEQUIO_COMMON_CLUSTER_SPEC_H
#define TEQUIO_COMMON_CLUSTER_SPEC_H

#include "common/cluster/cluster.h"

#include <jansson.h>

enum { SPEC_JOBS = 5 };

typedef struct spec_dialect {
    cluster_origin origin;
    const char *variable;       /* for messages */
    const char *primary;        /* the usual name of the master's job */
    const char *job[SPEC_JOBS]; /* names of jobs; NULL-filled at the end */
    role roles[SPEC_JOBS];
    bool empty_is_none; /* {} is a job without tasks, not one of unknown size */
    bool null_is_later; /* null in a list is a task whose address is not known yet */
} spec_dialect;

extern const spec_dialect spec_slurm, spec_sagemaker;

MUST_USE status spec_cluster(const spec_dialect *d, const json_t *spec, cluster **ret, error *err);

/* An empty cluster to fill; its strings live in `*ret_memory`, which it owns. */
struct arena;
cluster *cluster_create(struct arena **ret_memory);
struct arena *cluster_memory(cluster *c);

/* What the description leaves out: a cluster that names no evaluator has so many nevertheless. */
void cluster_add_evaluators(cluster *c, int32_t n);

/* {"cluster": {}, "task": {"type": type, "index": index}} to which jobs are added. */
json_t *spec_create(const char *type, int index);

#endif
