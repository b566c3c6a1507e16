#include "job/kubernetes/run.h"

#include "common/base/clock.h"
#include "common/base/fs.h"
#include "common/base/jobkey.h"
#include "job/kubernetes/pod_logs.h"
#include "job/process/log_mux.h"
#include "job/process/signals.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 1000, DRAIN_MS = 10 * 1000, GONE_LOOKS = 3 };
enum { MAY_PASS = 128 }; /* codes from here on; lower ones are for good */

typedef struct running {
    const kubernetes_launch *l;
    const kubernetes_options *o;
    signals signals;
    pod_logs logs;
    int asked;     /* how often we were asked to stop */
    int code;      /* of the pods that failed, the one that tells most; 0: none did */
    int gone;      /* for how many looks the job has not been there */
    bool is_blind; /* the last look failed */
    error *err;
} running;

/* --- to the cluster --- */

static status write_manifest(const running *r, buf *ret, char **ret_path, error *err)
{
    TRY(kubernetes_manifest(r->o, ret, err));
    *ret_path = xasprintf("%s/job.yaml", r->l->log_dir);
    TRY(fs_write_atomic(*ret_path, ret->data, ret->size, err));
    if (r->l->key)
        kubernetes_secret(r->o, r->l->key, ret);
    return OK;
}

/* The first word with the cluster; what goes wrong here goes wrong for want of something. */
static status check_cluster(const running *r, const char *path)
{
    arena *memory = arena_create();
    kubectl_view v;
    error why = ERROR_INIT;
    status st = kubectl_look(r->o, memory, &v, &why);
    if (st == OK && v.is_there)
        st = FAIL(r->err, E_CONFIG,
                  "a job '%s' is in the cluster already; `kubectl delete %s --selector %s` ends it "
                  "and makes room, or this one gets another name",
                  r->o->name, kubectl_kinds(r->o), kubectl_selector(r->o, memory));
    else if (st == E_IO)
        st = FAIL(r->err, st,
                  "%s; the manifest is %s, for `kubectl apply --filename` where there is one",
                  why.text, path);
    else if (st != OK && strstr(why.text, "have a resource type \"tfjobs\""))
        st = FAIL(r->err, st, "%s; it lacks Kubeflow's training operator: --plain-jobs needs none",
                  why.text);
    else if (st != OK)
        st = FAIL(r->err, st, "%s", why.text);
    arena_destroy(&memory);
    return st;
}

static void say_submitted(running *r, const char *path)
{
    arena *memory = arena_create();
    log_mux_say("the job %s is in the cluster; its manifest: %s", r->o->name, path);
    if (!r->l->waits)
        log_mux_say("`kubectl delete %s --selector %s` removes it", kubectl_kinds(r->o),
                   kubectl_selector(r->o, memory));
    arena_destroy(&memory);
}

static status kubernetes_run_submit(running *r)
{
    buf manifest = BUF_INIT;
    char *path = NULL;
    status st = write_manifest(r, &manifest, &path, r->err);
    if (st == OK)
        st = check_cluster(r, path);
    if (st == OK) {
        st = kubectl_apply(r->o, manifest.data, r->err);
        if (st == OK)
            say_submitted(r, path);
        else if (kubectl_delete(r->o, false, NULL) != OK) /* what was made before the refusal */
            log_mux_say("what was made of the job is left in the cluster");
    }
    jobkey_wipe(manifest.data, manifest.size);
    buf_fini(&manifest);
    free(path);
    return st;
}

/* --- waiting for its end --- */

static void ask_to_stop(running *r)
{
    error why = ERROR_INIT;
    log_mux_say("%s", r->asked ? "killing all pods"
                              : "stopping after a checkpoint; Ctrl-C again kills all pods");
    status st = r->asked++ ? kubectl_kill_pods(r->o, &why) : kubectl_delete(r->o, false, &why);
    if (st != OK)
        log_mux_say("%s", why.text);
}

/* A code that is for good tells more than one that may pass, or of a pod that was told to leave. */
static void note_codes(running *r, const kubectl_view *v)
{
    for (int i = 0; i < v->n_pods; i++)
        if (v->pods[i].exit_code > 0 && (!r->code || r->code >= MAY_PASS))
            r->code = v->pods[i].exit_code;
}

static int end_badly(running *r, const char *failure)
{
    bool is_late = strstr(failure, "specified deadline") != NULL;
    (void)FAIL(r->err, E_FAIL, "the job %s: %s; the logs are in %s", r->o->name, failure,
               r->l->log_dir);
    return is_late || !r->code ? status_exit_code(E_FAIL) : r->code;
}

/* True when it is over. */
static bool kubernetes_run_judge(running *r, const kubectl_view *v, int *ret)
{
    r->gone = v->is_there ? 0 : r->gone + 1;
    if (r->asked) {
        if (v->is_there || v->n_pods)
            return false;
        *ret = status_exit_code(FAIL(r->err, E_PREEMPTED, "stopped on request"));
    } else if (v->is_done) {
        *ret = 0;
    } else if (v->failure) {
        *ret = end_badly(r, v->failure);
    } else if (r->gone == GONE_LOOKS) {
        *ret = status_exit_code(
            FAIL(r->err, E_FAIL,
                 "the job %s is gone: somebody else has removed it from the cluster", r->o->name));
    } else {
        return false;
    }
    return true;
}

/* A cluster that does not answer for a while goes on computing. */
static bool kubernetes_run_look(running *r, int *ret)
{
    arena *memory = arena_create();
    kubectl_view v;
    error why = ERROR_INIT;
    status st = kubectl_look(r->o, memory, &v, &why);
    bool is_over = false;
    if (st == OK) {
        note_codes(r, &v);
        st = pod_logs_follow(&r->logs, &v, &why);
        is_over = kubernetes_run_judge(r, &v, ret);
    }
    if (st != OK && !r->is_blind)
        log_mux_say("%s", why.text);
    r->is_blind = st != OK;
    arena_destroy(&memory);
    return is_over;
}

static int await_end(running *r)
{
    int code = 0;
    while (!kubernetes_run_look(r, &code)) {
        int64_t until = clock_us() + LOOK_MS * 1000;
        for (int64_t now = clock_us(); now < until; now = clock_us()) {
            pod_logs_turn(&r->logs, r->signals.fd, (int)((until - now) / 1000) + 1);
            for (int number; signals_next(&r->signals, &number);)
                ask_to_stop(r);
        }
    }
    pod_logs_drain(&r->logs, DRAIN_MS);
    return code;
}

static int wait_and_remove(running *r)
{
    int code = await_end(r);
    error why = ERROR_INIT;
    if (kubectl_delete(r->o, true, &why) != OK)
        log_mux_say("%s", why.text);
    return code;
}

int kubernetes_run(const kubernetes_launch *l, error *err)
{
    running r = {.l = l,
                 .o = l->manifest,
                 .signals = SIGNALS_INIT,
                 .logs = {.o = l->manifest, .log_dir = l->log_dir},
                 .err = err};
    status st = l->waits ? signals_open(false, &r.signals, err) : OK;
    if (st == OK)
        st = kubernetes_run_submit(&r);
    int code = st == OK && l->waits ? wait_and_remove(&r) : status_exit_code(st);
    pod_logs_fini(&r.logs);
    signals_close(&r.signals);
    return code;
}
