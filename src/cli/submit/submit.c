/* `tequio submit`: a job of AI Platform's form, with gcloud's flags, run on machines one has. */
#include "cli/commands.h"
#include "cli/submit/order.h"
#include "cli/submit/report.h"
#include "common/base/fs.h"
#include "job/local.h"
#include "job/restart.h"

#include <stdio.h>

/* As AI Platform does: a task that died is started again so often, and then the whole job. */
enum { TASK_RESTARTS = 5, JOB_RESTARTS = 3, GRACE_MS = 30 * 1000 };

static local_options local_of(const order *o, const args *a, const char *logs)
{
    return (local_options){
        .workers = (int)o->job.pools[ROLE_WORKER].count,
        .ps = (int)o->job.pools[ROLE_PS].count,
        .evaluators = (int)o->job.pools[ROLE_EVALUATOR].count,
        .start_port = (int)args_count(a, "start-port", 0),
        .arguments = o->arguments,
        .arguments_again = o->arguments_again,
        .max_restarts = TASK_RESTARTS,
        .primary = o->primary,
        .log_dir = logs,
        .limit_ms = (int64_t)(o->job.max_running_s * 1000),
        .grace_ms = GRACE_MS,
    };
}

/* A code from 128 on may pass, as restart.h says; then all begin again, from the last checkpoint. */
static int run_local(const order *o, const args *a, error *err)
{
    const char *logs = arena_printf(o->memory, "%s/log", o->job.job_dir);
    status st = fs_mkdirs(logs, err);
    if (st != OK)
        return status_exit_code(st);
    local_options options = local_of(o, a, logs);
    for (int life = 0;; life++) {
        int code = local_run(&options, err);
        if (!restart_may_help(code) || life == JOB_RESTARTS)
            return code;
        fprintf(stderr, "tequio: %s\ntequio: the whole job is started again (%d of %d)\n",
                err->text, life + 1, JOB_RESTARTS);
        error_clear(err);
    }
}

static void dry_run(const order *o, const args *a)
{
    local_options options = local_of(o, a, NULL);
    roster tasks;
    roster_plan(&options, &tasks);
    report_print(o, &tasks, args_has(a, "json"));
    roster_close(&tasks);
}

static int run_submit(const args *a, error *err)
{
    if (args_has(a, "json") && !args_has(a, "dry-run"))
        return status_exit_code(
            FAIL(err, E_USAGE, "submit: --json is the form of --dry-run's report; add --dry-run"));
    if (args_has(a, "async") && args_has(a, "stream-logs"))
        return status_exit_code(
            FAIL(err, E_USAGE, "submit: --async and --stream-logs exclude each other"));
    order o;
    status st = order_read(a, &o, err);
    if (st != OK)
        return status_exit_code(st);
    int code = 0;
    if (args_has(a, "dry-run"))
        dry_run(&o, a);
    else
        code = run_local(&o, a, err);
    order_fini(&o);
    return code;
}

#define ASKED    "The job"
#define MACHINES "Its machines"
#define PYTHON   "What is for Python"
#define CLOUD    "What is for Google's cloud"
#define WHERE    "Where it runs"
#define SHOW     "What to show"

/* flags.def's kinds as those of a command line; what a text means is for job/spec/flags.c. */
#define FLAG_OF_TEXT        FLAG_TEXT
#define FLAG_OF_PATH        FLAG_PATH
#define FLAG_OF_COUNT       FLAG_COUNT
#define FLAG_OF_CHOICE      FLAG_CHOICE
#define FLAG_OF_TRUTH       FLAG_CHOICE
#define FLAG_OF_SWITCH      FLAG_SWITCH
#define FLAG_OF_TEXTS       FLAG_TEXT
#define FLAG_OF_LABELS      FLAG_TEXT
#define FLAG_OF_ACCELERATOR FLAG_TEXT

static const flag submit_flags[] = {
    {"config", 0, FLAG_PATH, "FILE", ASKED, "The job file, in YAML or JSON; flags go over it.", 0, 0},
#define JOB_FLAG(name, kind, value, path, group, help)                                             \
    {name, 0, FLAG_OF_##kind, value, group, help, 1, JOB_TASKS_MOST},
#include "job/spec/flags.def"
#undef JOB_FLAG
    {"target", 0, FLAG_CHOICE, "local", WHERE,
     "local: each task is a process of this machine. The default.", 0, 0},
    {"scale-down", 0, FLAG_TEXT, "MxWxP", WHERE,
     "Fewer tasks of the same roles: master, workers, parameter servers, as 1x2x1; a fourth number "
     "is evaluators.",
     0, 0},
    {"start-port", 0, FLAG_COUNT, "PORT", WHERE,
     "Listen on this port and the following ones instead of free ones.", 1, 65535},
    {"dry-run", 0, FLAG_SWITCH, NULL, SHOW,
     "Check everything and print machines, tasks and the TF_CONFIG of each; start nothing.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, SHOW, "Let --dry-run print JSON.", 0, 0},
    {"stream-logs", 0, FLAG_SWITCH, NULL, SHOW, "Show what tasks print: always so here.", 0, 0},
    {"async", 0, FLAG_SWITCH, NULL, SHOW, "Taken and ignored by targets that nobody else runs.", 0,
     0},
};

const command command_submit = {
    .name = "submit",
    .operands = "JOB",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Run a training job that is written for AI Platform.",
    .about = "Runs a job of AI Platform's form, from a job file (--config), gcloud's flags, or both: a "
             "flag goes over its field of the file. What stands behind -- are arguments of `tequio "
             "train` for each task, the config file first; --job-dir, before it, is handed on.\n\n"
             "The exit code is the primary's. A task that dies is started again up to five times, and "
             "then the whole job up to three times.",
    .flags = submit_flags,
    .n_flags = COUNT_OF(submit_flags),
    .takes_rest = true,
    .run = run_submit,
};
