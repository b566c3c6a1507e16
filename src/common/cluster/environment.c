/* Which description of the cluster counts: the first that the environment holds. */
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/cluster/slurm.h"
#include "common/cluster/spec.h"

#include <stdlib.h>
#include <string.h>

enum { SAGEMAKER_PORT = 2223 };

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static status sorted_hosts(const json_t *hosts, const char **names, error *err)
{
    size_t n = json_array_size(hosts);
    for (size_t i = 0; i < n; i++) {
        const json_t *name = json_array_get(hosts, i);
        if (!json_is_string(name))
            return FAIL(err, E_CONFIG, "SM_HOSTS: [%zu]: expected a host name, got %s", i,
                        json_kind(name));
        names[i] = json_string_value(name);
    }
    qsort(names, n, sizeof *names, compare_names);
    return OK;
}

/* All hosts are workers, in the order of their names. NULL when this host is not among them. */
static json_t *sagemaker_workers(const char *const *names, size_t n, const char *here)
{
    json_t *spec = NULL, *workers = json_array();
    for (size_t i = 0; i < n; i++) {
        char *address = xasprintf("%s:%d", names[i], SAGEMAKER_PORT);
        json_array_append_new(workers, json_string(address));
        free(address);
        if (!spec && strcmp(names[i], here) == 0)
            spec = spec_create("worker", (int)i);
    }
    if (spec)
        json_object_set(json_object_get(spec, "cluster"), "worker", workers);
    json_decref(workers);
    return spec;
}

static status sagemaker_spec(json_t **ret, error *err)
{
    const char *text = getenv("SM_HOSTS"), *here = getenv("SM_CURRENT_HOST");
    *ret = NULL;
    if (!text || !*text || !here || !*here)
        return OK;
    json_t *hosts = NULL;
    TRY(json_parse(text, strlen(text), "SM_HOSTS", E_CONFIG, &hosts, err));
    size_t n = json_array_size(hosts);
    const char **names = xcalloc(n, sizeof *names);
    status st = json_is_array(hosts)
                    ? sorted_hosts(hosts, names, err)
                    : FAIL(err, E_CONFIG, "SM_HOSTS: expected a list of host names, got %s",
                           json_kind(hosts));
    if (st == OK && n > 1)
        *ret = sagemaker_workers(names, n, here);
    free(names);
    json_decref(hosts);
    return st;
}

status cluster_from_env(cluster **ret, error *err)
{
    const char *tf_config = getenv("TF_CONFIG"), *cluster_spec = getenv("CLUSTER_SPEC");
    if (tf_config && *tf_config)
        return cluster_from_tf_config(tf_config, ret, err);
    if (cluster_spec && *cluster_spec)
        return cluster_from_cluster_spec(cluster_spec, ret, err);
    const spec_dialect *dialect = &spec_slurm;
    json_t *spec = NULL;
    TRY(slurm_spec(&spec, err));
    if (!spec) {
        dialect = &spec_sagemaker;
        TRY(sagemaker_spec(&spec, err));
    }
    if (!spec)
        return cluster_local(ret, err);
    status st = spec_cluster(dialect, spec, ret, err);
    json_decref(spec);
    return st;
}
