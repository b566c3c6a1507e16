/* Which description of the cluster counts: the first that the environment holds. */
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/cluster/ranks.h"
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

/* --- Google's clouds --- */

static status check_evaluators(const char *where, int64_t n, error *err)
{
    if (n <= 1)
        return OK;
    return FAIL(err, E_CONFIG, "%s: %lld evaluators: a job has one at most, which evaluates all checkpoints", where,
                (long long)n);
}

/* Of AI Platform's TrainingInput, whose numbers may be text. */
static status evaluators_of_job(const char *text, int32_t *ret, error *err)
{
    static const struct {
        const char *key, *where;
    } counts[] = {{"evaluatorCount", "TF_CONFIG: job.evaluatorCount"},
                  {"evaluator_count", "TF_CONFIG: job.evaluator_count"}};
    json_t *job = NULL;
    status st = OK;
    *ret = 0;
    if (!text || json_parse(text, strlen(text), "job", E_CONFIG, &job, NULL) != OK)
        return OK;
    for (size_t i = 0; i < COUNT_OF(counts) && st == OK; i++) {
        const json_t *count = json_object_get(job, counts[i].key);
        const char *digits = json_string_value(count);
        int64_t n = digits ? strtoll(digits, NULL, 10) : json_integer_value(count);
        st = check_evaluators(counts[i].where, n, err);
        *ret = *ret || n == 1;
    }
    json_decref(job);
    return st;
}

/* By Vertex AI's name, or AI Platform's. */
static status check_spec_evaluators(const char *text, error *err)
{
    static const struct {
        const char *name, *where;
    } jobs[] = {{"workerpool3", "CLUSTER_SPEC: cluster.workerpool3"}, {"evaluator", "CLUSTER_SPEC: cluster.evaluator"}};
    json_t *spec = NULL;
    status st = OK;
    if (json_parse(text, strlen(text), "CLUSTER_SPEC", E_CONFIG, &spec, NULL) != OK)
        return OK;
    for (size_t i = 0; i < COUNT_OF(jobs) && st == OK; i++) {
        const json_t *job = json_object_get(json_object_get(spec, "cluster"), jobs[i].name);
        st = check_evaluators(jobs[i].where, (int64_t)(json_array_size(job) + json_object_size(job)), err);
    }
    json_decref(spec);
    return st;
}

/* What is otherwise no description of a cluster is ignored: TF_CONFIG is one. */
static status evaluators_of_spec(const char *text, int32_t *ret, error *err)
{
    cluster *c = NULL;
    *ret = 0;
    if (!text)
        return OK;
    TRY(check_spec_evaluators(text, err));
    if (cluster_from_cluster_spec(text, &c, NULL) != OK)
        return OK;
    *ret = c->jobs[ROLE_EVALUATOR].n;
    cluster_destroy(&c);
    return OK;
}

/* AI Platform and Vertex AI leave evaluators out of TF_CONFIG's cluster, of which they are no part;
 * that there is one is in the job that it carries, or in CLUSTER_SPEC beside it. */
static status read_tf_config(const char *text, const char *beside, cluster **ret, error *err)
{
    int32_t of_job = 0, of_spec = 0;
    TRY(cluster_from_tf_config(text, ret, err));
    status st = evaluators_of_job((*ret)->job_json, &of_job, err);
    if (st == OK)
        st = evaluators_of_spec(beside, &of_spec, err);
    if (st != OK) {
        cluster_destroy(ret);
        return st;
    }
    cluster_add_evaluators(*ret, of_job || of_spec);
    return OK;
}

/* --- which of them --- */

static status read_google(const char *tf_config, const char *cluster_spec, cluster **ret,
                          error *err)
{
    return tf_config && *tf_config ? read_tf_config(tf_config, cluster_spec, ret, err)
                                   : cluster_from_cluster_spec(cluster_spec, ret, err);
}

/* A description that names a cluster wins over ranks. One that names none would let each of them
 * train alone. */
static status overrule_ranks(const char *variable, cluster *c, error *err)
{
    ranks r;
    if (ranks_read(&r, NULL) != OK || r.size < 2) {
        ranks_fini(&r);
        return OK;
    }
    const char *by = r.world.by;
    c->overruled = by;
    int rank = r.rank, size = r.size;
    ranks_fini(&r);
    if (c->origin != CLUSTER_LOCAL)
        return OK;
    return FAIL(err, E_CONFIG,
                "%s names no cluster, but by %s this is rank %d of %d: unset the one that is not "
                "meant",
                variable, by, rank, size);
}

static status from_google(const char *tf_config, const char *cluster_spec, cluster **ret,
                          error *err)
{
    bool is_tf = tf_config && *tf_config;
    TRY(read_google(tf_config, cluster_spec, ret, err));
    status st = overrule_ranks(is_tf ? "TF_CONFIG" : "CLUSTER_SPEC", *ret, err);
    if (st != OK)
        cluster_destroy(ret);
    return st;
}

static status from_schedulers(cluster **ret, error *err)
{
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

static status from_others(cluster **ret, error *err)
{
    ranks r;
    status st = ranks_read(&r, err);
    if (st == OK)
        st = r.size ? cluster_from_ranks(&r.world, r.rank, r.size, NULL, ret, err)
                    : from_schedulers(ret, err);
    ranks_fini(&r);
    return st;
}

/* --- trials of a search --- */

/* {"task": {"trial": "7"}} says nothing of a cluster: that is for others to say. *ret_trial: free it. */
static bool says_trial_alone(const char *tf_config, char **ret_trial)
{
    json_t *all = NULL;
    if (!tf_config || json_parse(tf_config, strlen(tf_config), "TF_CONFIG", E_CONFIG, &all, NULL) != OK)
        return false;
    const json_t *own = json_object_get(all, "task");
    const char *trial = json_string_value(json_object_get(own, "trial"));
    bool is_alone = trial && json_object_size(all) == 1 && json_object_size(own) == 1;
    if (is_alone)
        *ret_trial = xstrdup(trial);
    json_decref(all);
    return is_alone;
}

/* As the launcher's variable says, where the description of the cluster does not. */
static void find_trial(cluster *c, const char *trial)
{
    if (!trial)
        trial = getenv("CLOUD_ML_TRIAL_ID");
    if (!c->trial && trial && *trial)
        c->trial = arena_strdup(cluster_memory(c), trial);
}

status cluster_from_env(cluster **ret, error *err)
{
    const char *tf_config = getenv("TF_CONFIG"), *cluster_spec = getenv("CLUSTER_SPEC");
    char *trial = NULL;
    if (says_trial_alone(tf_config, &trial))
        tf_config = NULL;
    bool is_google = (tf_config && *tf_config) || (cluster_spec && *cluster_spec);
    status st = is_google ? from_google(tf_config, cluster_spec, ret, err) : from_others(ret, err);
    if (st == OK)
        find_trial(*ret, trial);
    free(trial);
    return st;
}
