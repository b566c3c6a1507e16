#include "job/kubernetes/pod.h"

#include "common/base/alloc.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* --- what it is called --- */

json_t *pod_metadata(const kubernetes_options *o, const char *name, const char *component)
{
    const doc_node *labels = o->job->labels;
    json_t *all =
        json_pack("{s:s, s:s}", "app.kubernetes.io/name", "tequio", KUBERNETES_INSTANCE, o->name);
    if (component)
        json_object_set_new(all, KUBERNETES_COMPONENT, json_string(component));
    for (int i = 0; labels && i < labels->n; i++)
        json_object_set_new(all, labels->key[i], json_string(labels->item[i]->text));
    json_t *m = json_object();
    if (name)
        json_object_set_new(m, "name", json_string(name));
    if (name && o->namespace)
        json_object_set_new(m, "namespace", json_string(o->namespace));
    json_object_set_new(m, "labels", all);
    return m;
}

/* --- what it asks for --- */

/* Two tasks do not fit on one such machine, and what its system keeps for itself is left: of small
 * machines GKE leaves a little more than four fifths of the memory. */
static json_t *requests(const machine *m)
{
    enum { OF_FOUR = 3 };
    char cpu[32], memory[32];
    snprintf(cpu, sizeof cpu, "%" PRId64 "m", (int64_t)(m->vcpus * 1000 * OF_FOUR / 4));
    snprintf(memory, sizeof memory, "%" PRId64 "Mi", (int64_t)(m->memory_gb * 1024 * OF_FOUR / 4));
    return json_pack("{s:s, s:s}", "cpu", cpu, "memory", memory);
}

static json_t *resources(const job_pool *p)
{
    json_t *r = json_object();
    if (p->machine)
        json_object_set_new(r, "requests", requests(p->machine));
    if (p->gpus)
        json_object_set_new(r, "limits", json_pack("{s:I}", "nvidia.com/gpu", (json_int_t)p->gpus));
    return r;
}

/* NVIDIA_TESLA_T4 is nvidia-tesla-t4 there. */
static json_t *gke_accelerator(int type)
{
    char name[64];
    size_t n = 0;
    for (const char *c = machines_all()->gpu[type]; *c && n + 1 < sizeof name; c++)
        name[n++] = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    name[n] = '\0';
    return json_pack("{s:s}", "cloud.google.com/gke-accelerator", name);
}

static void ask_for_gpus(const kubernetes_options *o, const job_pool *p, json_t *spec)
{
    if (!p->gpus)
        return;
    if (!o->any_gpu)
        json_object_set_new(spec, "nodeSelector", gke_accelerator(p->gpu_type));
    json_object_set_new(spec, "tolerations",
                        json_pack("[{s:s, s:s, s:s}]", "key", "nvidia.com/gpu", "operator",
                                  "Exists", "effect", "NoSchedule"));
}

/* --- what it sees --- */

typedef struct volumes {
    json_t *volumes, *mounts;
} volumes;

/* `source` is what the volume is, with its "name"; `mount` is where it is seen. Both are taken. */
static void add_volume(volumes *v, json_t *source, json_t *mount)
{
    json_t *named = json_pack("{s:O}", "name", json_object_get(source, "name"));
    json_object_update(named, mount);
    json_decref(mount);
    json_array_append_new(v->volumes, source);
    json_array_append_new(v->mounts, named);
}

static json_t *claim_volume(const char *name, const char *claim)
{
    return json_pack("{s:s, s:{s:s}}", "name", name, "persistentVolumeClaim", "claimName", claim);
}

bool pod_owns_claim(const kubernetes_options *o)
{
    return !kubernetes_is_claimed(o->claims, o->job_dir);
}

void pod_add_claims(const kubernetes_options *o, json_t *all, json_t *mounts)
{
    volumes v = {.volumes = all, .mounts = mounts};
    for (const kubernetes_claim *c = o->claims; c->name; c++) {
        char name[32];
        snprintf(name, sizeof name, "claim-%d", (int)(c - o->claims));
        add_volume(&v, claim_volume(name, c->name), json_pack("{s:s}", "mountPath", c->path));
    }
}

/* A file system has things of its own at its root: the job dir is a folder of it. */
static void add_claims(const kubernetes_options *o, role r, volumes *v)
{
    pod_add_claims(o, v->volumes, v->mounts);
    if ((r == ROLE_MASTER || r == ROLE_EVALUATOR) && pod_owns_claim(o))
        add_volume(v, claim_volume("job", o->name),
                   json_pack("{s:s, s:s}", "mountPath", o->job_dir, "subPath", "job"));
}

/* NCCL speaks through shared memory, of which a container has 64 MB by itself. */
static void add_shared_memory(const job_pool *p, volumes *v)
{
    if (p->gpus > 1)
        add_volume(
            v, json_pack("{s:s, s:{s:s}}", "name", "shared-memory", "emptyDir", "medium", "Memory"),
            json_pack("{s:s}", "mountPath", "/dev/shm"));
}

static volumes all_volumes(const kubernetes_options *o, role r)
{
    volumes v = {.volumes = json_array(), .mounts = json_array()};
    char folder[] = KUBERNETES_CONFIG;
    *strrchr(folder, '/') = '\0';
    add_volume(&v, json_pack("{s:s, s:{s:s}}", "name", "config", "configMap", "name", o->name),
               json_pack("{s:s, s:b}", "mountPath", folder, "readOnly", true));
    add_claims(o, r, &v);
    add_shared_memory(&o->job->pools[r], &v);
    return v;
}

/* --- what it runs --- */

const char *pod_image(const kubernetes_options *o, role r)
{
    if (o->image)
        return o->image;
    const char *own = o->job->pools[r].image;
    return own ? own : o->job->pools[ROLE_MASTER].image;
}

static json_t *texts(const char *const *list)
{
    json_t *r = json_array();
    for (; *list; list++)
        json_array_append_new(r, json_string(*list));
    return r;
}

/* The job's and the key come before what the operator adds. */
static json_t *all_environment(const kubernetes_options *o, json_t *more)
{
    json_t *r = json_array();
    for (int i = 0; i < o->job->n_environment; i++) {
        const char *entry = o->job->environment[i], *equals = strchr(entry, '=');
        json_array_append_new(r, json_pack("{s:s%, s:s}", "name", entry, (size_t)(equals - entry),
                                           "value", equals + 1));
    }
    if (o->is_secured)
        json_array_append_new(r, json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", "TEQUIO_KEY",
                                           "valueFrom", "secretKeyRef", "name", o->name, "key",
                                           "key"));
    if (o->metrics_port)
        json_array_append_new(r, json_pack("{s:s, s:s}", "name", "TEQUIO_METRICS_PROBED", "value", "1"));
    if (o->trial)
        json_array_append_new(r, json_pack("{s:s, s:s}", "name", "CLOUD_ML_TRIAL_ID", "value", o->trial));
    if (more)
        json_array_extend(r, more);
    json_decref(more);
    return r;
}

/* Of the server that tells a task's figures (watch/metrics/task_metrics.h), which begins when devices were found. */
static json_t *http_probe(const char *path, int first_s, int failures)
{
    return json_pack("{s:{s:s, s:s}, s:i, s:i, s:i, s:i}", "httpGet", "path", path, "port", POD_METRICS_PORT,
                     "initialDelaySeconds", first_s, "periodSeconds", 10, "timeoutSeconds", 5, "failureThreshold",
                     failures);
}

/* A probe hides a pod's name until it listens. Servers listen at once, and the master when it has
 * found them; but workers that host servers look each other up first, and would wait for one
 * another. */
static bool is_dialled(const kubernetes_options *o, role r)
{
    return r == ROLE_PS || (r == ROLE_MASTER && job_tasks(o->job) > 1);
}

/* The operator's Services name ready pods only, and a task is at work only when it has found others: there, to be ready
 * is to listen. */
static json_t *readiness(const kubernetes_options *o, role r)
{
    if (o->metrics_port && o->plain_jobs)
        return http_probe("/readyz", 0, 3);
    if (is_dialled(o, r))
        return json_pack("{s:{s:s}, s:i}", "tcpSocket", "port", POD_PORT, "periodSeconds", 10);
    return NULL;
}

static json_t *container(const kubernetes_options *o, role r, json_t *mounts, json_t *environment)
{
    json_t *c = json_pack("{s:s, s:s, s:[s], s:o}", "name", POD_CONTAINER, "image", pod_image(o, r),
                          "command", "tequio", "args", texts(o->arguments));
    json_t *all = all_environment(o, environment);
    if (json_array_size(all))
        json_object_set(c, "env", all);
    json_decref(all);
    json_object_set_new(
        c, "ports", json_pack("[{s:s, s:i}]", "name", POD_PORT, "containerPort", KUBERNETES_PORT));
    json_object_set_new(c, "resources", resources(&o->job->pools[r]));
    if (o->metrics_port)
        json_array_append_new(json_object_get(c, "ports"), json_pack("{s:s, s:i}", "name", POD_METRICS_PORT,
                                                                     "containerPort", o->metrics_port));
    json_t *is_ready = readiness(o, r);
    if (is_ready)
        json_object_set_new(c, "readinessProbe", is_ready);
    if (o->metrics_port)
        json_object_set_new(c, "livenessProbe", http_probe("/healthz", 60, 6));
    json_object_set_new(c, "volumeMounts", mounts);
    return c;
}

json_t *pod_template(const kubernetes_options *o, role r, json_t *environment)
{
    volumes v = all_volumes(o, r);
    json_t *spec = json_object();
    if (o->plain_jobs)
        json_object_set_new(spec, "restartPolicy", json_string("Never"));
    if (o->plain_jobs)
        json_object_set_new(spec, "subdomain", json_string(o->name));
    json_object_set_new(spec, "terminationGracePeriodSeconds", json_integer(o->grace_s));
    if (o->job->service_account)
        json_object_set_new(spec, "serviceAccountName", json_string(o->job->service_account));
    ask_for_gpus(o, &o->job->pools[r], spec);
    json_object_set_new(spec, "containers",
                        json_pack("[o]", container(o, r, v.mounts, environment)));
    json_object_set_new(spec, "volumes", v.volumes);
    return json_pack("{s:o, s:o}", "metadata", pod_metadata(o, NULL, role_name(r)), "spec", spec);
}
