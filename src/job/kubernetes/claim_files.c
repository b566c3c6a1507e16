#include "job/kubernetes/claim_files.h"

#include "common/base/alloc.h"
#include "job/kubernetes/kubectl.h"
#include "job/kubernetes/pod.h"

#include <stdlib.h>

/* It waits for words of a launcher that do not come, and serves those of others beside it. */
static char *manifest_of(const kubernetes_options *o, const char *name)
{
    json_t *container = json_pack("{s:s, s:s, s:[s], s:[s], s:b}", "name", "files", "image", pod_image(o, ROLE_MASTER),
                                  "command", "tequio", "args", "task", "stdin", 1);
    json_t *volumes = json_array(), *mounts = json_array();
    pod_add_claims(o, volumes, mounts);
    json_object_set_new(container, "volumeMounts", mounts);
    json_t *spec = json_pack("{s:s, s:i, s:[o], s:o}", "restartPolicy", "Never", "terminationGracePeriodSeconds", 0,
                             "containers", container, "volumes", volumes);
    if (o->job->service_account)
        json_object_set_new(spec, "serviceAccountName", json_string(o->job->service_account));
    json_t *pod = json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "v1", "kind", "Pod", "metadata",
                            pod_metadata(o, name, "files"), "spec", spec);
    char *text = json_text(pod);
    json_decref(pod);
    return text;
}

static status make_pod(const kubernetes_options *o, const char *name, error *err)
{
    char *text = manifest_of(o, name);
    status st = kubectl_remove_pod(o, name, err); /* of a launcher before this one */
    if (st == OK)
        st = kubectl_apply(o, text, err);
    if (st == OK)
        st = kubectl_await_pod(o, name, err);
    free(text);
    return st;
}

/* A pod may be gone with its node: then another one is asked. */
status claim_files_fetch(const kubernetes_options *o, bool *has_pod, const char *path, int to, error *err)
{
    char *name = xasprintf("%s-files", o->name);
    error why = ERROR_INIT;
    bool had_pod = *has_pod;
    status st = had_pod ? OK : make_pod(o, name, err);
    if (st == OK) {
        *has_pod = true;
        st = kubectl_fetch(o, name, path, to, &why);
    }
    if (st == E_FAIL && had_pod) {
        error_clear(&why);
        st = make_pod(o, name, &why);
        if (st == OK)
            st = kubectl_fetch(o, name, path, to, &why);
    }
    if (st != OK && why.code != OK)
        (void)FAIL(err, st, "%s", why.text);
    free(name);
    return st;
}

status claim_files_end(const kubernetes_options *o, bool *has_pod, error *err)
{
    char *name = xasprintf("%s-files", o->name);
    status st = *has_pod ? kubectl_remove_pod(o, name, err) : OK;
    *has_pod = false;
    free(name);
    return st;
}
