#include "cli/train/launch.h"

#include "cli/roles/outcome.h"
#include "cli/roles/process.h"
#include "cli/run/input_files.h"
#include "cli/train/result.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "job/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* torchrun starts all ranks again after a failure, with the same arguments: what is in the job dir is
 * this job's own. */
static bool is_started_again(void)
{
    const char *count = getenv("TORCHELASTIC_RESTART_COUNT");
    return count && atoi(count) > 0;
}

bool train_recovers(const train_job *j)
{
    return args_has(j->args, "recover") || (is_started_again() && j->rule == JOBDIR_ALLENNLP);
}

bool train_chooses_step(const args *a, int64_t *ret)
{
    const char *text = args_text(a, "recover");
    int end = 0;
    long long step;
    bool chooses = text && sscanf(text, "step-%18lld%n", &step, &end) == 1 && end && !text[end] && step >= 0;
    *ret = chooses ? step : -1;
    return chooses;
}

bool train_forces(const train_job *j)
{
    return args_has(j->args, "force") && !is_started_again();
}

status train_finish(const train_job *j, error *err)
{
    TRY(cloud_hand_over(&j->folders, err));
    return result_print(j->job_dir, err);
}

/* For the tasks of a launch: they read what was resolved once, instead of each evaluating jsonnet.
 */
static status write_resolved(const train_job *j, const char *path, error *err)
{
    char *text = config_dump(j->config);
    status st = fs_write_atomic(path, text, strlen(text), err);
    free(text);
    return st;
}

static status launch_prepare_dir(const train_job *j, const char *logs, const char *resolved, jobdir **ret,
                                 bool *ret_done, error *err)
{
    int64_t step;
    bool chooses = train_chooses_step(j->args, &step);
    jobdir_request request = {
        .path = j->job_dir,
        .rule = j->rule,
        .recover = train_recovers(j),
        .chooses = chooses,
        .step = step,
        .force = train_forces(j),
        .config = j->config,
        .frozen_s = config_f64(j->config, "distributed.heartbeat_timeout"),
        .watching = process_watching,
        .check = input_files_check,
    };
    TRY(jobdir_prepare(&request, ret, ret_done, err));
    if (*ret_done)
        outcome_complete(j->config, *ret, NULL);
    jobdir_let_go(*ret); /* the master takes its lock */
    if (*ret_done)
        return OK;
    TRY(fs_mkdirs(logs, err));
    return write_resolved(j, resolved, err);
}

static int run_tasks(const train_job *j, const char *logs, const char *resolved, const char *key_file,
                     error *err)
{
    const char *arguments[] = {
        "train", resolved, "--job-dir", j->job_dir, "--progress", progress_mode_name(j->progress),
        NULL,
    };
    const char *again[COUNT_OF(arguments) + 1] = {NULL};
    memcpy(again, arguments, sizeof arguments);
    again[COUNT_OF(arguments) - 1] = "--recover";
    char *settings = xasprintf("distributed.page=null\ndistributed.master_trains=false\ndistributed.workers=%d\n"
                               "distributed.ps=%d\ndistributed.evaluators=%d\ndistributed.lanes=%d",
                               j->shape.workers, j->shape.ps, j->shape.evaluators, j->shape.lanes);
    local_options options = {
        .shape =
            {
                .counts = {[ROLE_MASTER] = 1,
                           [ROLE_WORKER] = j->shape.workers,
                           [ROLE_PS] = j->shape.ps,
                           [ROLE_EVALUATOR] = j->shape.evaluators},
                .primary = "chief", /* whom another task may evaluate in TensorFlow's rules, too */
                .trial = j->cluster->trial,
                .start_port = config_has(j->config, "distributed.start_port")
                                  ? (int)config_int(j->config, "distributed.start_port")
                                  : 0,
            },
        .words =
            {
                .settings = settings,
                .key_file = key_file,
                .fault = j->faults.text,
                .threads = j->shape.threads,
            },
        .arguments = arguments,
        .arguments_again = again,
        .restarts = restart_limit_of(j->config),
        .log_dir = logs,
        .metrics = config_str(j->config, "distributed.metrics"),
        .needs = resolved,
        .hang_ms = (int64_t)(config_f64(j->config, "distributed.hang_timeout") * 1000),
        .grace_ms = (int64_t)(config_f64(j->config, "distributed.preempt_grace") * 1000),
    };
    int code = local_run(&options, err);
    free(settings);
    return code;
}

/* On this machine alone nothing is encrypted unless that is asked for. */
static status find_key_file(const train_job *j, char **ret, error *err)
{
    const char *security = config_str(j->config, "distributed.security");
    if (!security || strcmp(security, "curve") != 0)
        return OK;
    return keys_find_file(&j->given, j->config, j->job_dir, ret, err);
}

/* Nobody else is left who could: a task may have been killed as it left. */
static void complete(const train_job *j)
{
    jobdir *dir = NULL;
    if (jobdir_open(j->job_dir, &dir, NULL) == OK)
        outcome_complete(j->config, dir, NULL);
    jobdir_close(&dir);
}

int train_launch(train_job *j, error *err)
{
    char *logs = xasprintf("%s/log", j->job_dir), *resolved = xasprintf("%s/config.json", logs);
    char *key_file = NULL;
    jobdir *dir = NULL;
    bool done = false;
    status st = launch_prepare_dir(j, logs, resolved, &dir, &done, err);
    if (st == OK && done)
        st = train_finish(j, err);
    if (st == OK && !done)
        st = find_key_file(j, &key_file, err);
    if (st == OK && !done)
        page_beside_begin(&j->page, j->job_dir);
    int code =
        st != OK || done ? status_exit_code(st) : run_tasks(j, logs, resolved, key_file, err);
    if (dir && code != 0)
        jobdir_undo_start(dir, true);
    jobdir_close(&dir);
    if (code == 0 && !done)
        complete(j);
    free(key_file);
    free(resolved);
    free(logs);
    return code;
}
