/* The words in which clusters are described, and from a text of TF_CONFIG or CLUSTER_SPEC to a
 * cluster. */
#include "common/cluster/spec.h"

#include "common/base/json.h"

#include <string.h>

#define JOBS_OF_ROLES                                                                              \
    .job = {"chief", "master", "worker", "ps", "evaluator"},                                       \
    .roles = {ROLE_MASTER, ROLE_MASTER, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR}

const spec_dialect spec_tf_config = {
    .origin = CLUSTER_TF_CONFIG,
    .variable = "TF_CONFIG",
    .primary = "chief",
    JOBS_OF_ROLES,
};

static const spec_dialect vertex = {
    .origin = CLUSTER_VERTEX,
    .variable = "CLUSTER_SPEC",
    .primary = "workerpool0",
    .job = {"workerpool0", "workerpool1", "workerpool2", "workerpool3"},
    .roles = {ROLE_MASTER, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR},
    .empty_is_none = true,
};

/* AI Platform's, for containers. */
static const spec_dialect ai_platform = {
    .origin = CLUSTER_VERTEX,
    .variable = "CLUSTER_SPEC",
    .primary = "master",
    JOBS_OF_ROLES,
    .empty_is_none = true,
};

const spec_dialect spec_slurm = {
    .origin = CLUSTER_SLURM,
    .variable = "TEQUIO_SLURM_JOBS",
    .primary = "chief",
    JOBS_OF_ROLES,
};

const spec_dialect spec_sagemaker = {
    .origin = CLUSTER_SAGEMAKER,
    .variable = "SM_HOSTS",
    .primary = "chief",
    .job = {"worker"},
    .roles = {ROLE_WORKER},
};

const spec_dialect spec_ranks = {
    .origin = CLUSTER_RANKS,
    .variable = "WORLD_SIZE",
    .primary = "chief",
    .job = {"worker"},
    .roles = {ROLE_WORKER},
    .null_is_later = true,
};

/* The words of a CLUSTER_SPEC: pools of machines are Vertex AI's, roles AI Platform's. */
static const spec_dialect *dialect_of(const json_t *spec)
{
    const char *name;
    json_t *value;
    role which;
    json_object_foreach(json_object_get(spec, "cluster"), name, value)
        if (role_of(name, &which))
            return &ai_platform;
    return &vertex;
}

static status parse(const spec_dialect *d, const char *text, cluster **ret, error *err)
{
    if (!text || !text[strspn(text, " \t\r\n")])
        return cluster_local(ret, err);
    json_t *spec = NULL;
    TRY(json_parse(text, strlen(text), d->variable, E_CONFIG, &spec, err));
    status st = spec_cluster(d == &vertex ? dialect_of(spec) : d, spec, ret, err);
    json_decref(spec);
    return st;
}

status cluster_from_tf_config(const char *json, cluster **ret, error *err)
{
    return parse(&spec_tf_config, json, ret, err);
}

status cluster_from_cluster_spec(const char *json, cluster **ret, error *err)
{
    return parse(&vertex, json, ret, err);
}
