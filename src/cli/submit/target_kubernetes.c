/* `tequio submit --target kubernetes`: every task is a pod of a cluster that kubectl reaches. */
#include "cli/run/input_files.h"
#include "cli/submit/target.h"
#include "job/kubernetes/claim_files.h"
#include "job/kubernetes/run.h"
#include "watch/http/listen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond preempt_grace: the way to the pod, and what leaves last. */
enum { MORE_GRACE_S = 15 };

typedef struct kubernetes_target {
    char name[KUBERNETES_NAME];
    const kubernetes_claim *claims;
    const char *const *arguments;
    const char *job_dir;
    const char *config;
    int metrics_port;   /* 0: pods cannot be asked */
    bool has_files_pod; /* claim_files.h */
} kubernetes_target;

/* A path of this machine is none of a pod's, unless it is whole. */
static const char *dir_in_pods(const submit_request *o)
{
    return o->job.job_dir[0] == '/' ? o->job.job_dir : KUBERNETES_JOB_DIR;
}

/* What stands behind --job-dir, in the pods. */
static const char *const *arguments_in_pods(const launch *l, const char *job_dir)
{
    const char *const *all = submit_request_arguments(l->request, KUBERNETES_CONFIG, false);
    size_t n = 0;
    while (all[n])
        n++;
    const char **own = arena_alloc(l->request->memory, (n + 1) * sizeof *own);
    for (size_t i = 0; i <= n; i++)
        own[i] = i && all[i] && strcmp(all[i - 1], "--job-dir") == 0 ? job_dir : all[i];
    return own;
}

/* Probes come from outside of the pod, to a port that is known, and tasks open none for others without a key. */
static status find_metrics(const submit_request *o, int *ret_port, error *err)
{
    const char *place = config_str(o->resolved, "distributed.metrics");
    bool is_local = false;
    int port = 0;
    if (place)
        TRYF(http_place_read(place, &port, &is_local, err), err, "distributed.metrics");
    if (port && is_local)
        fprintf(stderr,
                "tequio: submit: distributed.metrics is %s, which nobody outside of a pod can reach: no probe asks "
                "there; *:%d can be reached\n",
                place, port);
    if (!is_local && place && !o->is_secured)
        return FAIL(err, E_CONFIG,
                    "distributed.metrics: %s can be reached from elsewhere, which wants a token of the job's key, and "
                    "there is none without security: leave out --insecure (distributed.security), or the metrics",
                    place);
    *ret_port = is_local ? 0 : port;
    return OK;
}

static status prepare(launch *l, error *err)
{
    arena *memory = l->request->memory;
    kubernetes_target *t = arena_alloc(memory, sizeof *t);
    TRY(kubernetes_name(&l->request->job, submit_trial(), t->name, err));
    TRY(find_metrics(l->request, &t->metrics_port, err));
    TRY(kubernetes_claims(args_text(l->args, "claims"), memory, &t->claims, err));
    t->job_dir = dir_in_pods(l->request);
    t->arguments = arguments_in_pods(l, t->job_dir);
    char *resolved = config_dump(l->request->resolved);
    t->config = arena_strdup(memory, resolved);
    free(resolved);
    l->own = t;
    return OK;
}

static kubernetes_options target_kubernetes_options_of(const launch *l)
{
    const submit_request *o = l->request;
    const kubernetes_target *t = l->own;
    return (kubernetes_options){
        .job = &o->job,
        .name = t->name,
        .namespace = args_text(l->args, "namespace"),
        .image = args_text(l->args, "image"),
        .primary = o->primary,
        .arguments = t->arguments,
        .config = t->config,
        .job_dir = t->job_dir,
        .trial = submit_trial(),
        .claims = t->claims,
        .metrics_port = t->metrics_port,
        .plain_jobs = args_has(l->args, "plain-jobs"),
        .any_gpu = args_has(l->args, "any-gpu"),
        .is_secured = o->is_secured && (job_tasks(&o->job) > 1 || t->metrics_port),
        .grace_s = (int)ceil(config_f64(o->resolved, "distributed.preempt_grace")) + MORE_GRACE_S,
        .max_restarts = target_task_restarts(l).most,
    };
}

/* TF_CONFIG is the operator's to make, or the Service's names: this is what it comes to. */
static status plan(const launch *l, roster *ret, error *err)
{
    (void)err;
    kubernetes_options o = target_kubernetes_options_of(l);
    roster_shape shape = target_shape(l, KUBERNETES_PORT);
    roster_plan(&shape, ret);
    for (int i = 0; i < ret->n; i++) {
        roster_task *t = &ret->tasks[i];
        t->port = KUBERNETES_PORT;
        t->host = kubernetes_host(&o, t->task, l->request->memory);
    }
    return OK;
}

/* gs:// is what is mounted at /gcs (common/base/gcs.h); any other path is whole, or the image's. */
static void warn_of_unclaimed(const launch *l)
{
    const kubernetes_target *t = l->own;
    arena *memory = l->request->memory;
    for (const input_file_name *r = input_files_names(l->request->resolved, memory); r->key; r++) {
        bool is_bucket = strncmp(r->path, "gs://", 5) == 0;
        const char *path = is_bucket ? arena_printf(memory, "/gcs/%s", r->path + 5) : r->path;
        if (kubernetes_is_claimed(t->claims, path))
            continue;
        fprintf(stderr,
                "tequio: submit: %s: '%s' is in no claim (--claims NAME:/PATH), so pods find it only if "
                "%s\n",
                r->key, r->path,
                is_bucket ? "its bucket is mounted at /gcs in them" : "their image holds it");
    }
}

static status write_manifest(const launch *l, buf *ret, error *err)
{
    kubernetes_options o = target_kubernetes_options_of(l);
    TRY(kubernetes_manifest(&o, ret, err));
    warn_of_unclaimed(l);
    return OK;
}

static int target_kubernetes_run(const launch *l, error *err)
{
    char key[JOBKEY_TEXT];
    kubernetes_options o = target_kubernetes_options_of(l);
    status st = o.is_secured ? target_choose_key(l, key, err) : OK;
    kubernetes_launch to = {.manifest = &o,
                            .key = o.is_secured ? key : NULL,
                            .log_dir = l->logs,
                            .waits = !args_has(l->args, "async")};
    if (st == OK)
        warn_of_unclaimed(l);
    int code = st == OK ? kubernetes_run(&to, err) : status_exit_code(st);
    jobkey_wipe(key, sizeof key);
    return code;
}

/* What a job's own claim holds, no other pod sees. */
static status target_kubernetes_fetch_check(const launch *l, error *err)
{
    const kubernetes_target *t = l->own;
    if (kubernetes_is_claimed(t->claims, l->request->job.job_dir))
        return OK;
    return FAIL(err, E_CONFIG, "a search reads what its trials wrote: the job dir must be below a claim that is there, "
                "--claims NAME:/PATH, and '%s' is not", l->request->job.job_dir);
}

static status target_kubernetes_fetch(const launch *l, const char *path, int to, error *err)
{
    kubernetes_options o = target_kubernetes_options_of(l);
    kubernetes_target *t = l->own;
    return claim_files_fetch(&o, &t->has_files_pod, path, to, err);
}

static status target_kubernetes_fetch_end(const launch *l, error *err)
{
    kubernetes_options o = target_kubernetes_options_of(l);
    kubernetes_target *t = l->own;
    return claim_files_end(&o, &t->has_files_pod, err);
}

const target target_kubernetes = {
    .name = "kubernetes",
    .group = TARGET_GROUP("kubernetes"),
    .lives_on = true,
    .page_way = "kubectl port-forward POD PORT, the master's",
    .prepare = prepare,
    .plan = plan,
    .write = write_manifest,
    .run = target_kubernetes_run,
    .fetch = target_kubernetes_fetch,
    .fetch_check = target_kubernetes_fetch_check,
    .fetch_end = target_kubernetes_fetch_end,
};
