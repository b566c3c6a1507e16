#include "job/kubernetes/manifest.h"

#include "common/base/alloc.h"
#include "job/kubernetes/pod.h"
#include "job/yaml.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

const char *kubernetes_role(const kubernetes_options *o, role r)
{
    return r == ROLE_MASTER ? o->primary : role_name(r);
}

const char *kubernetes_host(const kubernetes_options *o, task t, arena *memory)
{
    const char *own =
        arena_printf(memory, "%s-%s-%d", o->name, kubernetes_role(o, t.role), t.index);
    if (o->plain_jobs)
        return arena_printf(memory, "%s.%s", own, o->name);
    return arena_printf(memory, "%s.%s.svc", own, o->namespace ? o->namespace : "NAMESPACE");
}

/* A label of DNS: 63 letters at most, of the longest name too, NAME-evaluator-12. */
status kubernetes_name(const job *j, const char *trial, char ret[KUBERNETES_NAME], error *err)
{
    size_t n = 0, longest = 0, of_trial = trial ? strlen(trial) + 1 : 0;
    for (role r = 0; r < ROLE_COUNT; r++) {
        int64_t count = j->pools[r].count;
        size_t own = count ? (size_t)snprintf(NULL, 0, "-%s-%" PRId64, role_name(r), count - 1) : 0;
        longest = own > longest ? own : longest;
    }
    if (strlen(j->id) + of_trial + longest >= KUBERNETES_NAME)
        return FAIL(err, E_CONFIG,
                    "the job's name '%s' has %zu letters; Kubernetes' names have 63 at most, and "
                    "so that of this job at most %zu",
                    j->id, strlen(j->id), KUBERNETES_NAME - 1 - longest - of_trial);
    for (const char *c = j->id; *c; c++)
        ret[n++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    ret[n] = '\0';
    if (ret[n - 1] == '-')
        return FAIL(err, E_CONFIG,
                    "the job's name '%s': one of Kubernetes' ends with a letter or a digit", j->id);
    if (trial)
        snprintf(ret + n, KUBERNETES_NAME - n, "-%s", trial);
    return OK;
}

/* --- what Kubernetes would not take --- */

static status manifest_check_labels(const doc_node *labels, error *err)
{
    for (int i = 0; labels && i < labels->n; i++) {
        const char *words[] = {labels->key[i], labels->item[i]->text};
        for (size_t k = 0; k < COUNT_OF(words); k++) {
            size_t n = strlen(words[k]);
            if (n &&
                (!isalnum((unsigned char)words[k][0]) || !isalnum((unsigned char)words[k][n - 1])))
                return DOC_FAIL(
                    err, labels->item[i],
                    "the label '%s': Kubernetes' begin and end with a letter or a digit", words[k]);
        }
    }
    return OK;
}

static status check_images(const kubernetes_options *o, error *err)
{
    for (role r = 0; r < ROLE_COUNT; r++)
        if (o->job->pools[r].count && !o->image && !o->job->pools[r].image &&
            !o->job->pools[ROLE_MASTER].image)
            return FAIL(err, E_CONFIG,
                        "no image is named; give --image, or masterConfig.imageUri in the job "
                        "file, with one that holds tequio, as packaging/Dockerfile makes it");
    return OK;
}

static status manifest_check(const kubernetes_options *o, error *err)
{
    size_t bytes = strlen(o->config);
    if (bytes > CONFIG_MAP_BYTES - 1024)
        return FAIL(err, E_CONFIG,
                    "the configuration has %zu bytes; a ConfigMap of Kubernetes holds 1 MiB",
                    bytes);
    if (o->namespace && !kubernetes_is_name(o->namespace))
        return FAIL(err, E_USAGE, "--namespace: '%s' is no name of a namespace", o->namespace);
    if (o->job->service_account && strchr(o->job->service_account, '@'))
        return FAIL(err, E_CONFIG,
                    "the service account '%s' is Google's; name a ServiceAccount of the namespace, "
                    "to which it may be bound there",
                    o->job->service_account);
    TRY(manifest_check_labels(o->job->labels, err));
    return check_images(o, err);
}

/* --- what both forms have --- */

static json_t *object_of(const kubernetes_options *o, const char *api, const char *kind,
                         const char *name, const char *component)
{
    return json_pack("{s:s, s:s, s:o}", "apiVersion", api, "kind", kind, "metadata",
                     pod_metadata(o, name, component));
}

static void add_document(buf *ret, json_t *object)
{
    yaml_add(object, ret);
    json_decref(object);
}

static void add_config(const kubernetes_options *o, buf *ret)
{
    json_t *m = object_of(o, "v1", "ConfigMap", o->name, NULL);
    json_object_set_new(m, "data",
                        json_pack("{s:s}", strrchr(KUBERNETES_CONFIG, '/') + 1, o->config));
    add_document(ret, m);
}

/* Evaluators read on other nodes what the master writes. */
static void add_claim(const kubernetes_options *o, buf *ret)
{
    if (!pod_owns_claim(o))
        return;
    json_t *c = object_of(o, "v1", "PersistentVolumeClaim", o->name, NULL);
    json_object_set_new(
        c, "spec",
        json_pack("{s:[s], s:{s:{s:s}}}", "accessModes",
                  o->job->pools[ROLE_EVALUATOR].count ? "ReadWriteMany" : "ReadWriteOnce",
                  "resources", "requests", "storage", "10Gi"));
    add_document(ret, c);
}

static void add_deadline(const kubernetes_options *o, json_t *policy)
{
    if (o->job->max_running_s > 0)
        json_object_set_new(policy, "activeDeadlineSeconds",
                            json_integer((json_int_t)ceil(o->job->max_running_s)));
}

void kubernetes_secret(const kubernetes_options *o, const char *key, buf *ret)
{
    json_t *s = object_of(o, "v1", "Secret", o->name, NULL);
    json_object_set_new(s, "stringData", json_pack("{s:s}", "key", key));
    add_document(ret, s);
}

/* --- for the operator --- */

static json_t *replica(const kubernetes_options *o, role r)
{
    return json_pack("{s:I, s:s, s:o}", "replicas", (json_int_t)o->job->pools[r].count,
                     "restartPolicy", o->max_restarts ? "ExitCode" : "Never", "template",
                     pod_template(o, r, NULL));
}

/* cleanPodPolicy: what still runs when the master has ended is told to leave; logs stay. */
static void add_tfjob(const kubernetes_options *o, buf *ret)
{
    bool is_chief = strcmp(o->primary, "chief") == 0;
    const char *const names[ROLE_COUNT] = {[ROLE_MASTER] = is_chief ? "Chief" : "Master",
                                           [ROLE_WORKER] = "Worker",
                                           [ROLE_PS] = "PS",
                                           [ROLE_EVALUATOR] = "Evaluator"};
    json_t *j = object_of(o, "kubeflow.org/v1", "TFJob", o->name, NULL), *replicas = json_object();
    json_t *policy =
        json_pack("{s:s, s:i}", "cleanPodPolicy", "Running", "backoffLimit", o->max_restarts);
    add_deadline(o, policy);
    for (role r = 0; r < ROLE_COUNT; r++)
        if (o->job->pools[r].count)
            json_object_set_new(replicas, names[r], replica(o, r));
    json_object_set_new(j, "spec",
                        json_pack("{s:o, s:o}", "runPolicy", policy, "tfReplicaSpecs", replicas));
    add_document(ret, j);
}

/* --- without it --- */

/* TF_CONFIG's cluster, by the names that the Service gives pods within the namespace. */
static char *addresses(const kubernetes_options *o)
{
    arena *memory = arena_create();
    json_t *all = json_object();
    for (role r = 0; r < ROLE_COUNT; r++) {
        json_t *list = json_array();
        for (int32_t i = 0; i < o->job->pools[r].count; i++)
            json_array_append_new(
                list,
                json_sprintf("%s:%d", kubernetes_host(o, (task){r, i}, memory), KUBERNETES_PORT));
        if (json_array_size(list))
            json_object_set(all, kubernetes_role(o, r), list);
        json_decref(list);
    }
    char *text = json_text(all);
    json_decref(all);
    arena_destroy(&memory);
    return text;
}

/* One text for all pods of a role: Kubernetes puts the index into it. */
static json_t *environment(const kubernetes_options *o, role r, const char *members)
{
    json_t *index =
        json_pack("{s:s, s:{s:{s:s}}}", "name", "TASK_INDEX", "valueFrom", "fieldRef", "fieldPath",
                  "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    json_t *config =
        json_sprintf("{\"cluster\":%s,\"environment\":\"cloud\",\"task\":{\"index\":$(TASK_INDEX),"
                     "\"type\":\"%s\"}}",
                     members, kubernetes_role(o, r));
    return json_pack("[o, {s:s, s:o}]", index, "name", "TF_CONFIG", "value", config);
}

/* The codes that tequio ends with, and those of a container that has no such program, are for good;
 * what a drained or lost node does to a task does not count. */
static json_t *failure_policy(void)
{
    return json_pack("{s:[{s:s, s:[{s:s, s:s}]}, {s:s, s:{s:s, s:s, s:[i,i,i,i,i,i]}}]}", "rules",
                     "action", "Ignore", "onPodConditions", "type", "DisruptionTarget", "status",
                     "True", "action", "FailJob", "onExitCodes", "containerName", POD_CONTAINER,
                     "operator", "In", "values", 1, 2, 3, 4, 126, 127);
}

static void add_role_job(const kubernetes_options *o, role r, const char *members, buf *ret)
{
    json_int_t count = (json_int_t)o->job->pools[r].count;
    char *name = xasprintf("%s-%s", o->name, kubernetes_role(o, r));
    json_t *j = object_of(o, "batch/v1", "Job", name, role_name(r));
    json_t *spec =
        json_pack("{s:s, s:I, s:I, s:i, s:i, s:o}", "completionMode", "Indexed", "completions",
                  count, "parallelism", count, "backoffLimitPerIndex", o->max_restarts,
                  "maxFailedIndexes", 0, "podFailurePolicy", failure_policy());
    add_deadline(o, spec);
    json_object_set_new(spec, "template",
                        pod_template(o, r, members ? environment(o, r, members) : NULL));
    json_object_set_new(j, "spec", spec);
    add_document(ret, j);
    free(name);
}

/* Tasks look each other up while they begin, before they listen. */
static void add_service(const kubernetes_options *o, buf *ret)
{
    json_t *s = object_of(o, "v1", "Service", o->name, NULL);
    json_object_set_new(s, "spec",
                        json_pack("{s:s, s:b, s:{s:s}, s:[{s:s, s:i}]}", "clusterIP", "None",
                                  "publishNotReadyAddresses", true, "selector", KUBERNETES_INSTANCE,
                                  o->name, "ports", "name", POD_PORT, "port", KUBERNETES_PORT));
    add_document(ret, s);
}

static void add_plain_jobs(const kubernetes_options *o, buf *ret)
{
    char *members = job_tasks(o->job) > 1 ? addresses(o) : NULL;
    if (members)
        add_service(o, ret);
    for (role r = 0; r < ROLE_COUNT; r++)
        if (o->job->pools[r].count)
            add_role_job(o, r, members, ret);
    free(members);
}

/* For a reader that finds the file alone. */
static void add_note(const kubernetes_options *o, buf *ret)
{
    buf_addf(ret, "# The job %s, as `tequio submit --target kubernetes` writes it.\n", o->job->id);
    if (o->is_secured)
        buf_addf(
            ret,
            "# The key of its connections is not in here. Where there is none, this makes one:\n"
            "#   kubectl create secret generic %s --from-literal=key=$(tequio keygen)\n",
            o->name);
}

status kubernetes_manifest(const kubernetes_options *o, buf *ret, error *err)
{
    TRY(manifest_check(o, err));
    add_note(o, ret);
    add_config(o, ret);
    add_claim(o, ret);
    (o->plain_jobs ? add_plain_jobs : add_tfjob)(o, ret);
    return OK;
}
