/* The words in which clusters are described, and from a text of TF_CONFIG or CLUSTER_SPEC to a
 * cluster. */
#include "common/cluster/spec.h"

#include "common/base/alloc.h"
#include "common/base/json.h"

#include <string.h>

#define JOBS_OF_ROLES                                                                              \
    .job = {"chief", "master", "worker", "ps", "evaluator"},                                       \
    .roles = {ROLE_MASTER, ROLE_MASTER, ROLE_WORKER, ROLE_PS, ROLE_EVALUATOR}

static const spec_dialect spec_tf_config = {
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

static const spec_dialect spec_ranks = {
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

status cluster_local(cluster **ret, error *err)
{
    json_t *spec = json_object();
    status st = spec_cluster(&spec_tf_config, spec, ret, err);
    json_decref(spec);
    return st;
}

/* In the words of a description: what has no address yet is null there. */
static json_t *world_spec(int32_t rank, int32_t size, const char *const *addresses)
{
    json_t *spec = spec_create("worker", rank), *workers = json_array();
    for (int32_t i = 0; i < size; i++)
        json_array_append_new(workers, addresses ? json_string(addresses[i]) : json_null());
    json_object_set_new(json_object_get(spec, "cluster"), "worker", workers);
    return spec;
}

status cluster_from_ranks(const cluster_world *world, int32_t rank, int32_t size,
                          const char *const *addresses, cluster **ret, error *err)
{
    if (size == 1)
        return cluster_local(ret, err);
    json_t *spec = world_spec(rank, size, addresses);
    status st = spec_cluster(&spec_ranks, spec, ret, err);
    json_decref(spec);
    TRY(st);
    arena *memory = cluster_memory(*ret);
    (*ret)->world = *world;
    (*ret)->world.by = arena_strdup(memory, world->by);
    (*ret)->world.meeting = world->meeting ? arena_strdup(memory, world->meeting) : NULL;
    return OK;
}

static status dialects_parse(const spec_dialect *d, const char *text, cluster **ret, error *err)
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
    return dialects_parse(&spec_tf_config, json, ret, err);
}

status cluster_from_cluster_spec(const char *json, cluster **ret, error *err)
{
    return dialects_parse(&vertex, json, ret, err);
}
