/* `tequio submit`: a job of AI Platform's form, with gcloud's flags, run on machines one has. */
#include "cli/commands.h"
#include "cli/play/keys.h"
#include "cli/submit/order.h"
#include "cli/submit/report.h"
#include "common/base/fs.h"
#include "job/local.h"
#include "job/remote.h"
#include "job/restart.h"
#include "job/slurm.h"
#include "job/ssh.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As AI Platform does: a task that died is started again so often, and then the whole job. */
enum { TASK_RESTARTS = 5, JOB_RESTARTS = 3, GRACE_MS = 30 * 1000 };

/* gcloud's own for clusters on one machine. */
enum { FIRST_PORT = 27182 };

#define SSH "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=10"

typedef struct launch {
    const order *order;
    const args *args;
    const char *logs;
    hosts hosts;
    char key[JOBKEY_TEXT]; /* "": none */
} launch;

static bool is_for(const launch *l, const char *target)
{
    return strcmp(l->order->target, target) == 0;
}

/* --- by target --- */

static local_options local_of(const launch *l)
{
    const order *o = l->order;
    return (local_options){
        .workers = (int)o->job.pools[ROLE_WORKER].count,
        .ps = (int)o->job.pools[ROLE_PS].count,
        .evaluators = (int)o->job.pools[ROLE_EVALUATOR].count,
        .start_port = (int)args_count(l->args, "start-port", 0),
        .arguments = o->arguments,
        .arguments_again = o->arguments_again,
        .max_restarts = TASK_RESTARTS,
        .primary = o->primary,
        .log_dir = l->logs,
        .limit_ms = (int64_t)(o->job.max_running_s * 1000),
        .grace_ms = GRACE_MS,
    };
}

static ssh_options ssh_of(launch *l)
{
    const order *o = l->order;
    const char *client = args_text(l->args, "ssh");
    return (ssh_options){
        .job = &o->job,
        .hosts = &l->hosts,
        .ssh = client ? client : SSH,
        .primary = o->primary,
        .start_port = (int)args_count(l->args, "start-port", FIRST_PORT),
        .arguments = order_arguments_of(o, REMOTE_CONFIG, false),
        .arguments_again = order_arguments_of(o, REMOTE_CONFIG, true),
        .config = o->config,
        .key = l->key[0] ? l->key : NULL,
        .log_dir = l->logs,
        .max_restarts = TASK_RESTARTS,
        .limit_ms = (int64_t)(o->job.max_running_s * 1000),
        .grace_ms = GRACE_MS,
    };
}

static slurm_options slurm_of(const launch *l, const char *program, const char *logs)
{
    const order *o = l->order;
    return (slurm_options){
        .job = &o->job,
        .program = program,
        .primary = o->primary,
        .arguments = o->arguments,
        .log_dir = logs,
        .sbatch = args_text(l->args, "sbatch"),
        .start_port = (int)args_count(l->args, "start-port", 0),
        .max_restarts = TASK_RESTARTS,
        .max_requeues = JOB_RESTARTS,
        .waits = !args_has(l->args, "async"),
    };
}

static status read_hosts(launch *l, error *err)
{
    const char *list = args_text(l->args, "hosts"), *file = args_text(l->args, "hosts-file");
    if (!is_for(l, "ssh") && (list || file || args_has(l->args, "ssh")))
        return FAIL(err, E_USAGE, "submit: --hosts, --hosts-file and --ssh are for --target ssh");
    if (is_for(l, "ssh") && !list == !file)
        return FAIL(err, E_USAGE,
                    "submit: --target ssh needs one of --hosts a,b:4,c and --hosts-file FILE");
    if (file)
        return hosts_read_file(file, l->order->memory, &l->hosts, err);
    return list ? hosts_of_list(list, l->order->memory, &l->hosts, err) : OK;
}

/* A key for this job alone, unless one is at hand. */
static status choose_key(launch *l, error *err)
{
    keys_given given;
    jobkey key;
    keys_take_given(&given);
    status st = OK;
    if (is_for(l, "ssh") && l->order->is_secured) {
        st = given.any ? jobkey_parse(given.text, &key, err) : jobkey_make(&key, err);
        if (st == OK)
            jobkey_text(&key, l->key);
    }
    jobkey_wipe(&given, sizeof given);
    jobkey_wipe(&key, sizeof key);
    return st;
}

/* The tasks find the key in the job dir, which Slurm's nodes share. */
static status place_key(const launch *l, error *err)
{
    keys_given given;
    char *path = NULL;
    keys_take_given(&given);
    status st = keys_find_file(&given, l->order->resolved, l->order->job.job_dir, &path, err);
    jobkey_wipe(&given, sizeof given);
    free(path);
    return st;
}

static int run_slurm(const launch *l, error *err)
{
    char program[PATH_MAX] = "tequio", logs[PATH_MAX];
    status st = l->order->is_secured ? place_key(l, err) : OK;
    if (st == OK && (!realpath("/proc/self/exe", program) || !realpath(l->logs, logs)))
        st = FAIL(err, E_IO, "find '%s': %m", l->logs);
    if (st != OK)
        return status_exit_code(st);
    slurm_options o = slurm_of(l, program, logs);
    return slurm_run(&o, err);
}

static int run_once(launch *l, error *err)
{
    if (is_for(l, "ssh")) {
        ssh_options o = ssh_of(l);
        return ssh_run(&o, err);
    }
    local_options o = local_of(l);
    return local_run(&o, err);
}

/* A code from 128 on may pass, as restart.h says; then all begin again, from the last checkpoint. */
static int run_job(launch *l, error *err)
{
    l->logs = arena_printf(l->order->memory, "%s/log", l->order->job.job_dir);
    status st = fs_mkdirs(l->logs, err);
    if (st == OK)
        st = choose_key(l, err);
    if (st != OK)
        return status_exit_code(st);
    if (is_for(l, "slurm"))
        return run_slurm(l, err);
    for (int life = 0;; life++) {
        int code = run_once(l, err);
        if (!restart_may_help(code) || life == JOB_RESTARTS)
            return code;
        fprintf(stderr, "tequio: %s\ntequio: the whole job is started again (%d of %d)\n",
                err->text, life + 1, JOB_RESTARTS);
        error_clear(err);
    }
}

static void print_script(const launch *l)
{
    slurm_options o = slurm_of(l, "tequio", l->order->job.job_dir);
    buf text = BUF_INIT;
    slurm_script(&o, &text);
    printf("\n%s", text.data);
    buf_fini(&text);
}

static status dry_run(launch *l, error *err)
{
    roster tasks;
    if (is_for(l, "ssh")) {
        ssh_options o = ssh_of(l);
        int *host_of = NULL;
        TRY(ssh_plan(&o, &tasks, &host_of, err));
        free(host_of);
    } else {
        local_options o = local_of(l);
        roster_plan(&o, &tasks);
    }
    report_print(l->order, &tasks, args_has(l->args, "json"));
    if (is_for(l, "slurm") && !args_has(l->args, "json"))
        print_script(l);
    roster_close(&tasks);
    return OK;
}

static int launch_order(const order *o, const args *a, error *err)
{
    launch l = {.order = o, .args = a};
    status st = read_hosts(&l, err);
    int code = 0;
    if (st == OK && args_has(a, "dry-run"))
        st = dry_run(&l, err);
    else if (st == OK)
        code = run_job(&l, err);
    jobkey_wipe(l.key, sizeof l.key);
    return st == OK ? code : status_exit_code(st);
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
    int code = launch_order(&o, a, err);
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
    {"target", 0, FLAG_CHOICE, "local|ssh|slurm", WHERE,
     "local: each task is a process of this machine; the default. ssh: of hosts that ssh reaches. slurm: "
     "of nodes that Slurm allots.",
     0, 0},
    {"hosts", 0, FLAG_TEXT, "A,B:4,C", WHERE, "The hosts; the number is of tasks one takes.", 0, 0},
    {"hosts-file", 0, FLAG_PATH, "FILE", WHERE,
     "Likewise, a line each: HOST [slots=N] [gpus=N] [address=A].", 0, 0},
    {"ssh", 0, FLAG_TEXT, "COMMAND", WHERE,
     "The client with its options, instead of '" SSH "'.", 0, 0},
    {"scale-down", 0, FLAG_TEXT, "MxWxP", WHERE,
     "Fewer tasks of the same roles: master, workers, parameter servers, as 1x2x1; a fourth number "
     "is evaluators.",
     0, 0},
    {"start-port", 0, FLAG_COUNT, "PORT", WHERE,
     "Listen on this port and the following ones, instead of free ones (local), 27182 (ssh), or those that the "
     "number of the job gives (slurm).",
     1, 65535},
    {"sbatch", 0, FLAG_TEXT, "OPTIONS", WHERE, "Further options of sbatch, as '--partition=gpu'.", 0, 0},
    {"dry-run", 0, FLAG_SWITCH, NULL, SHOW,
     "Check everything and print machines, tasks and the TF_CONFIG of each; start nothing.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, SHOW, "Let --dry-run print JSON.", 0, 0},
    {"stream-logs", 0, FLAG_SWITCH, NULL, SHOW, "Show what tasks print: always so here.", 0, 0},
    {"async", 0, FLAG_SWITCH, NULL, SHOW, "With --target slurm: submit, and do not wait.", 0, 0},
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
