/* `tequio submit --target ssh`: every task is a process of a host that ssh reaches. */
#include "cli/submit/target.h"
#include "job/ssh/fetch.h"
#include "job/ssh/remote.h"
#include "job/ssh/ssh.h"
#include "watch/http/listen.h"

#include <stdlib.h>
#include <string.h>

typedef struct ssh_target {
    hosts hosts;
    const char *const *client;
} ssh_target;

static status target_ssh_prepare(launch *l, error *err)
{
    const char *list = args_text(l->args, "hosts"), *file = args_text(l->args, "hosts-file");
    const char *client = args_text(l->args, "ssh");
    arena *memory = l->request->memory;
    ssh_target *t = arena_alloc(memory, sizeof *t);
    t->client = target_words(l, client ? client : SSH_CLIENT);
    if (!t->client[0])
        return FAIL(err, E_USAGE, "submit: --ssh is empty; it is a command, as 'ssh -i key'");
    if (!list == !file)
        return FAIL(err, E_USAGE,
                    "submit: --target ssh needs one of --hosts a,b:4,c and --hosts-file FILE");
    l->own = t;
    return file ? hosts_read_file(file, memory, &t->hosts, err)
                : hosts_of_list(list, memory, &t->hosts, err);
}

static ssh_options target_ssh_options_of(const launch *l)
{
    const submit_request *o = l->request;
    ssh_target *t = l->own;
    return (ssh_options){
        .job = &o->job,
        .hosts = &t->hosts,
        .client = t->client,
        .shape = target_shape(l, TARGET_FIRST_PORT),
        .arguments = submit_request_arguments(o, REMOTE_CONFIG, false),
        .arguments_again = submit_request_arguments(o, REMOTE_CONFIG, true),
        .log_dir = l->logs,
        .restarts = target_task_restarts(l),
        .limit_ms = (int64_t)(o->job.max_running_s * 1000),
        .grace_ms = TARGET_GRACE_MS,
    };
}

/* Each task of a host would want the same port. */
static status check_metrics(const launch *l, const roster *tasks, error *err)
{
    const char *place = config_str(l->request->resolved, "distributed.metrics");
    bool is_local;
    int port = 0;
    if (place)
        TRYF(http_place_read(place, &port, &is_local, err), err, "distributed.metrics");
    for (int i = 1; port && i < tasks->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(tasks->tasks[i].host, tasks->tasks[k].host) == 0)
                return FAIL(err, E_CONFIG,
                            "distributed.metrics: %s has several tasks, which cannot all listen at port %d; with port "
                            "0 each finds a free one and says in its log which",
                            tasks->tasks[i].host, port);
    return OK;
}

static status plan(const launch *l, roster *ret, error *err)
{
    ssh_options o = target_ssh_options_of(l);
    hosts_place *paths = NULL;
    TRY(ssh_plan(&o, ret, &paths, err));
    free(paths);
    status st = check_metrics(l, ret, err);
    if (st != OK)
        roster_close(ret);
    return st;
}

static int run(const launch *l, error *err)
{
    char key[JOBKEY_TEXT] = "", *resolved = config_dump(l->request->resolved);
    roster tasks;
    status st = plan(l, &tasks, err);
    if (st == OK)
        roster_close(&tasks);
    if (st == OK && l->request->is_secured)
        st = target_choose_key(l, key, err);
    ssh_options o = target_ssh_options_of(l);
    o.config = resolved;
    o.key = l->request->is_secured ? key : NULL;
    int code = st == OK ? ssh_run(&o, err) : status_exit_code(st);
    jobkey_wipe(key, sizeof key);
    free(resolved);
    return code;
}

static status target_ssh_fetch(const launch *l, const char *path, int to, error *err)
{
    ssh_options o = target_ssh_options_of(l);
    return ssh_fetch(&o, path, to, err);
}

const target target_ssh = {
    .name = "ssh",
    .group = TARGET_GROUP("ssh"),
    .page_way = "ssh -L PORT:127.0.0.1:PORT HOST, the master's",
    .prepare = target_ssh_prepare,
    .plan = plan,
    .run = run,
    .fetch = target_ssh_fetch,
};
