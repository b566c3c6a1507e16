/* `tequio submit --target local`: every task is a process of this machine. */
#include "cli/submit/target.h"
#include "job/local.h"

#include <stdlib.h>
#include <string.h>

static status plan(const launch *l, roster *ret, error *err)
{
    roster_shape shape = target_shape(l, 0);
    TRY(roster_check_ports(&shape, err));
    roster_plan(&shape, ret);
    return OK;
}

/* On this machine alone nothing is encrypted unless that is asked for. */
static status find_key_file(const launch *l, char **ret, error *err)
{
    const char *security = config_str(l->request->resolved, "distributed.security");
    if (!l->request->is_secured || !security || strcmp(security, "curve") != 0)
        return OK;
    return keys_find_file(&l->given, l->request->resolved, l->request->job.job_dir, ret, err);
}

/* The tasks have ours. */
static void take_environment(const job *j)
{
    for (int i = 0; i < j->n_environment; i++)
        putenv((char *)(uintptr_t)j->environment[i]);
}

static int target_local_run(const launch *l, error *err)
{
    const submit_request *o = l->request;
    char *key_file = NULL;
    status st = find_key_file(l, &key_file, err);
    take_environment(&o->job);
    if (st != OK)
        return status_exit_code(st);
    local_options options = {
        .shape = target_shape(l, 0),
        .words = {.key_file = key_file},
        .arguments = o->arguments,
        .arguments_again = o->arguments_again,
        .log_dir = l->logs,
        .metrics = config_str(o->resolved, "distributed.metrics"),
        .restarts = target_task_restarts(l),
        .limit_ms = (int64_t)(o->job.max_running_s * 1000),
        .grace_ms = TARGET_GRACE_MS,
        .hang_ms = TARGET_HANG_MS,
    };
    int code = local_run(&options, err);
    free(key_file);
    return code;
}

const target target_local = {
    .name = "local",
    .is_here = true,
    .keeps_files_here = true,
    .plan = plan,
    .run = target_local_run,
};
