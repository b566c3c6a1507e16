/* `tequio submit --target ssh`: every task is a process of a host that ssh reaches. */
#include "cli/submit/target.h"
#include "job/ssh/fetch.h"
#include "job/ssh/remote.h"
#include "job/ssh/ssh.h"

#include <stdlib.h>

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
    t->client = target_words(l, client ? client : TARGET_SSH);
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

static status plan(const launch *l, roster *ret, error *err)
{
    ssh_options o = target_ssh_options_of(l);
    hosts_place *paths = NULL;
    TRY(ssh_plan(&o, ret, &paths, err));
    free(paths);
    return OK;
}

static int run(const launch *l, error *err)
{
    char key[JOBKEY_TEXT], *resolved = config_dump(l->request->resolved);
    status st = l->request->is_secured ? target_choose_key(l, key, err) : OK;
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
