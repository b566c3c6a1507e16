#include "cli/look/pod_log_files.h"

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "job/kubernetes/kubectl.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PODS_MOST = 64 };

extern char **environ;

struct pod_log_files {
    char *folder;
    pid_t commands[PODS_MOST];  /* 0: it has ended */
    char *files[PODS_MOST];
    int n;
};

const char *pod_log_files_folder(const pod_log_files *f)
{
    return f->folder;
}

bool pod_log_files_grow(pod_log_files *f)
{
    bool any = false;
    for (int i = 0; i < f->n; i++) {
        if (f->commands[i] && waitpid(f->commands[i], NULL, WNOHANG) == f->commands[i])
            f->commands[i] = 0;
        any = any || f->commands[i];
    }
    return any;
}

void pod_log_files_hide(pod_log_files *f)
{
    for (int i = 0; i < f->n; i++)
        unlink(f->files[i]);
    if (f->folder)
        rmdir(f->folder);
}

void pod_log_files_close(pod_log_files **f)
{
    if (!*f)
        return;
    for (int i = 0; i < (*f)->n; i++) {
        if ((*f)->commands[i]) {
            kill((*f)->commands[i], SIGTERM);
            waitpid((*f)->commands[i], NULL, 0);
        }
    }
    pod_log_files_hide(*f);
    for (int i = 0; i < (*f)->n; i++)
        free((*f)->files[i]);
    free((*f)->folder);
    free(*f);
    *f = NULL;
}

/* Its standard error is ours: what it cannot do is said once. */
static status start(pod_log_files *f, const place_pods *pods, const kubectl_found *pod, bool follows, error *err)
{
    char name[TASK_NAME];
    const char *argv[8];
    int n = 0, i = f->n;
    argv[n++] = "kubectl";
    if (pods->namespace) {
        argv[n++] = "--namespace";
        argv[n++] = pods->namespace;
    }
    argv[n++] = "logs";
    if (follows)
        argv[n++] = "--follow";
    argv[n++] = pod->name;
    argv[n] = NULL;
    f->files[i] = xasprintf("%s/%s.log", f->folder, task_name(pod->task, name));
    f->n++;
    TRY(fs_write_unsynced(f->files[i], "", 0, err)); /* it is there from the beginning */
    posix_spawn_file_actions_t to;
    posix_spawn_file_actions_init(&to);
    posix_spawn_file_actions_addopen(&to, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&to, STDOUT_FILENO, f->files[i], O_WRONLY | O_CREAT | O_APPEND, 0600);
    int code = posix_spawnp(&f->commands[i], argv[0], &to, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&to);
    if (code == 0)
        return OK;
    f->commands[i] = 0;
    return FAIL(err, E_IO, "start kubectl: %s", strerror(code));
}

static status start_all(pod_log_files *f, const place_pods *pods, bool follows, error *err)
{
    const kubernetes_options o = {.name = pods->name, .namespace = pods->namespace};
    arena *memory = arena_create();
    kubectl_found *list;
    int n = 0;
    status st = kubectl_find(&o, memory, &list, &n, err);
    if (st == OK && n == 0)
        st = FAIL(err, E_FAIL, "kubernetes://%s: there are no pods of it: the job has ended, or was not given to this "
                  "cluster", pods->name);
    if (st == OK && n > PODS_MOST)
        st = FAIL(err, E_FAIL, "kubernetes://%s has %d pods; logs of %d are read at most: `kubectl logs POD` has one",
                  pods->name, n, PODS_MOST);
    for (int i = 0; st == OK && i < n; i++)
        if (strcmp(list[i].phase, "Pending") != 0) /* nothing is logged yet */
            st = start(f, pods, &list[i], follows, err);
    arena_destroy(&memory);
    return st;
}

status pod_log_files_open(const place_pods *pods, bool follows, pod_log_files **ret, error *err)
{
    pod_log_files *f = xcalloc(1, sizeof *f);
    status st = fs_make_temporary("logs", &f->folder, err);
    if (st == OK)
        st = start_all(f, pods, follows, err);
    if (st == OK)
        *ret = f;
    else
        pod_log_files_close(&f);
    return st;
}
