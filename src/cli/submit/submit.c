/* `tequio submit`: a job of AI Platform's or Vertex AI's form, with gcloud's flags, run on machines
 * one has. */
#include "backend/cuda/cuda.h"
#include "cli/commands.h"
#include "cli/run/oversubscription.h"
#include "cli/run/page_beside.h"
#include "cli/run/shape.h"
#include "cli/submit/report.h"
#include "cli/submit/submit_search.h"
#include "cli/submit/target.h"
#include "common/base/fs.h"
#include "common/store/folder_lock.h"
#include "job/process/restart.h"
#include "job/ssh/ssh.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const target *const targets[] = {&target_compose, &target_kubernetes, &target_local,
                                        &target_slurm, &target_ssh};

/* --- what was asked for --- */

static const target *target_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(targets); i++)
        if (strcmp(targets[i]->name, name) == 0)
            return targets[i];
    BUG("a target that command lines take and that is not in the table");
}

static status check_flags(const args *a, error *err)
{
    if (args_has(a, "json") && !args_has(a, "dry-run"))
        return FAIL(err, E_USAGE, "submit: --json is the form of --dry-run's report; add --dry-run");
    if (args_has(a, "async") && args_has(a, "stream-logs"))
        return FAIL(err, E_USAGE, "submit: --async and --stream-logs exclude each other");
    return OK;
}

/* Flags that only another target takes. */
static status submit_check_target(const launch *l, const target *t, error *err)
{
    const command *c = l->args->command;
    for (size_t i = 0; i < c->n_flags; i++) {
        const flag *f = &c->flags[i];
        for (size_t k = 0; k < COUNT_OF(targets); k++)
            if (l->args->values[i] && targets[k] != t && targets[k]->group &&
                strcmp(f->group, targets[k]->group) == 0)
                return FAIL(err, E_USAGE, "submit: --%s is for --target %s; this is for %s", f->name,
                            targets[k]->name, t->name);
    }
    static const char *const of_searches[] = {"parameter", "metric"};
    for (size_t i = 0; i < COUNT_OF(of_searches); i++)
        if (args_has(l->args, of_searches[i]) && !l->request->job.search)
            return FAIL(err, E_USAGE, "submit: --%s is for jobs with hyperparameters; this one has none",
                        of_searches[i]);
    if (args_has(l->args, "async") && !t->lives_on)
        return FAIL(err, E_USAGE,
                    "submit: --async: with --target %s tasks live no longer than this command", t->name);
    return OK;
}

/* --- its page --- */

/* Served here, where the job dir is seen and somebody stays, else by the master. */
static bool serves_page(const args *a, const target *t)
{
    return t->keeps_files_here && !args_has(a, "async");
}

/* *ret: where the master serves it; NULL: it does not. */
static status find_page(const args *a, const target *t, const char **ret, error *err)
{
    const char *place = args_text(a, "page");
    size_t n = place ? strlen(place) : 0;
    *ret = NULL;
    if (!place || serves_page(a, t))
        return OK;
    if (t->keeps_files_here)
        return FAIL(err, E_USAGE,
                    "submit: --page: with --async nobody stays who could serve it; `tequio page JOB_DIR` does, as the "
                    "job dir is seen from here");
    if (n == 0 || strcmp(place, "0") == 0 || (n > 2 && strcmp(place + n - 2, ":0") == 0))
        return FAIL(err, E_USAGE,
                    "submit: --page: with --target %s the master serves it, and a port must be known to reach it: "
                    "--page=127.0.0.1:8000",
                    t->name);
    *ret = place;
    return OK;
}

static void say_page(const target *t, const char *place)
{
    fprintf(stderr, "tequio: submit: the master serves the page at %s of its host; from here it is reached by %s\n",
            place, t->page_way);
}

static status open_page(const launch *l, const target *t, page_beside *ret, error *err)
{
    const char *place = serves_page(l->args, t) ? args_text(l->args, "page") : NULL;
    page_words words = page_words_of(l->request->resolved);
    words.place = place && !*place ? PAGE_PLACE : place;
    if (place && submit_is_search(l->request))
        return FAIL(err, E_USAGE,
                    "submit: --page: a search has a job dir a trial; `tequio page` shows those that are named");
    return page_beside_open(&words, ret, err);
}

/* --- doing it --- */

/* A code from 128 on may pass, as job/process/restart.h says, and what one task was asked to leave
 * for does; then all begin again, from the last checkpoint. */
static int run_lives(const launch *l, const target *t, error *err)
{
    for (int life = 0;; life++) {
        int code = t->run(l, err);
        bool may_pass = restart_may_help(code) || (code >= 128 && err->code == E_ABORTED);
        if (t->begins_again || !may_pass || life == target_job_restarts(l))
            return code;
        fprintf(stderr, "tequio: %s\ntequio: the whole job is started again (%d of %d)\n",
                err->text, life + 1, target_job_restarts(l));
        error_clear(err);
    }
}

/* Whoever follows the logs (tequio logs) sees that they grow, also where the job dir is another host's. */
static int submit_run_job(const launch *l, const target *t, error *err)
{
    status st = fs_mkdirs(l->logs, err);
    if (st != OK)
        return status_exit_code(st);
    int held = folder_hold(l->logs), code = run_lives(l, t, err);
    folder_unlock(held);
    return code;
}

static status dry_run(const launch *l, const target *t, error *err)
{
    bool as_json = args_has(l->args, "json");
    roster tasks;
    buf text = BUF_INIT;
    TRY(t->plan(l, &tasks, err));
    status st = t->write && !as_json ? t->write(l, &text, err) : OK;
    if (st == OK)
        report_print(l->request, &tasks, as_json);
    if (st == OK && text.size)
        printf("\n%s", text.data);
    buf_fini(&text);
    roster_close(&tasks);
    return st;
}

static void warn_of_oversubscription(const submit_request *o)
{
    int64_t training = o->job.pools[ROLE_WORKER].count + shape_master_trains(o->resolved);
    oversubscription_warn((int)job_tasks(&o->job), (int)training,
                          "--scale-down runs fewer, as 1x2x1");
}

/* Where this program is and where it will write, from any folder. */
static status find_places(launch *l, char program[PATH_MAX], error *err)
{
    char here[PATH_MAX];
    const char *dir = l->request->job.job_dir;
    if (!realpath("/proc/self/exe", program) || !getcwd(here, sizeof here))
        return FAIL(err, E_IO, "find this program and this folder: %m");
    l->program = program;
    l->logs = *dir == '/' ? arena_printf(l->request->memory, "%s/log", dir)
                          : arena_printf(l->request->memory, "%s/%s/log", here, dir);
    return OK;
}

static int launch_request(const submit_request *o, const target *t, const args *a, error *err)
{
    char program[PATH_MAX];
    page_beside page = PAGE_BESIDE_NONE;
    launch l = {.request = o, .args = a};
    status st = submit_check_target(&l, t, err);
    if (st == OK)
        st = find_places(&l, program, err);
    if (st == OK && t->is_here)
        warn_of_oversubscription(o);
    if (st == OK && t->prepare)
        st = t->prepare(&l, err);
    if (st == OK && args_has(a, "dry-run"))
        st = dry_run(&l, t, err);
    if (st == OK && !args_has(a, "dry-run"))
        st = open_page(&l, t, &page, err);
    if (st == OK && submit_is_search(o))
        return submit_search(&l, t, err);
    if (st != OK || args_has(a, "dry-run"))
        return status_exit_code(st);
    keys_take_given(&l.given);
    if (o->page)
        say_page(t, o->page);
    page_beside_begin(&page, o->job.job_dir);
    int code = submit_run_job(&l, t, err);
    page_beside_end(&page);
    jobkey_wipe(&l.given, sizeof l.given);
    return code;
}

static int run_submit(const args *a, error *err)
{
    submit_request o;
    const char *name = args_text(a, "target"), *page = NULL;
    const target *t = target_named(name ? name : SUBMIT_TARGET);
    status st = check_flags(a, err);
    if (st == OK)
        st = find_page(a, t, &page, err);
    if (st == OK)
        st = submit_request_read(a, page, &o, err);
    if (st != OK)
        return status_exit_code(st);
    int code = launch_request(&o, t, a, err);
    submit_request_fini(&o);
    return code;
}

#define ASKED    "The job"
#define MACHINES "Its machines"
#define PYTHON   "What is for Python"
#define CLOUD    "What is for Google's cloud"
#define WHERE    "Where it runs"
#define SEARCH   "A search, of a job with hyperparameters"
#define SHOW     "What to show"

/* flags.def's kinds as those of a command line; what a text means is for job/spec/flags.c. */
#define FLAG_OF_TEXT        FLAG_TEXT
#define FLAG_OF_PATH        FLAG_PATH
#define FLAG_OF_COUNT       FLAG_COUNT
#define FLAG_OF_CHOICE      FLAG_ENUM
#define FLAG_OF_TRUTH       FLAG_ENUM
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
    {"parameter", 0, FLAG_TEXT, "NAME=KEY,...", SEARCH,
     "Which key of the configuration a parameter is, where its name is none; NAME= leaves it out.", 0, 0},
    {"metric", 0, FLAG_TEXT, "+NAME|-NAME", SEARCH,
     "The metric of validation data to make larger (+) or smaller (-), over hyperparameterMetricTag and goal.", 0, 0},
    {"target", 0, FLAG_CHOICE, "compose|kubernetes|local|slurm|ssh", WHERE,
     "local: each task is a process of this machine; the default. compose: a container on it. kubernetes: a pod "
     "of a cluster. slurm: a process of nodes that Slurm allots. ssh: of hosts that ssh reaches.",
     0, 0},
    {"scale-down", 0, FLAG_TEXT, "MxWxP", WHERE,
     "Fewer tasks of the same roles: master, workers, parameter servers, as 1x2x1; a fourth number, "
     "0 or 1, is the evaluator.",
     0, 0},
    {"start-port", 0, FLAG_COUNT, "PORT", WHERE,
     "Listen on this port and the following ones, instead of free ones (local), 27182 (ssh; compose, where all "
     "have this one), or those that the number of the job gives (slurm).",
     1, PORT_MOST},
    {"image", 0, FLAG_TEXT, "IMAGE", TARGET_GROUP("kubernetes"),
     "The image of all pods, instead of the job's imageUri.", 0, 0},
    {"namespace", 0, FLAG_TEXT, "NAME", TARGET_GROUP("kubernetes"),
     "Where it runs; otherwise where kubectl is set to.", 0, 0},
    {"claims", 0, FLAG_TEXT, "NAME:/PATH,...", TARGET_GROUP("kubernetes"),
     "PersistentVolumeClaims that are there, and where all pods see them: data, and the job dir if it is below one. "
     "Otherwise the job makes a claim of its own name for it.",
     0, 0},
    {"plain-jobs", 0, FLAG_SWITCH, NULL, TARGET_GROUP("kubernetes"),
     "Jobs and a Service, for clusters without Kubeflow's training operator, instead of a TFJob.", 0, 0},
    {"any-gpu", 0, FLAG_SWITCH, NULL, TARGET_GROUP("kubernetes"),
     "Take nodes with any GPUs; otherwise those with GKE's label of the job's type.", 0, 0},
    {"sbatch", 0, FLAG_TEXT, "OPTIONS", TARGET_GROUP("slurm"),
     "Further options of sbatch, as '--partition=gpu'.", 0, 0},
    {"hosts", 0, FLAG_TEXT, "A,B:4,C", TARGET_GROUP("ssh"),
     "The hosts; the number is of tasks one takes.", 0, 0},
    {"hosts-file", 0, FLAG_PATH, "FILE", TARGET_GROUP("ssh"),
     "Likewise, a line each: HOST [slots=N] [gpus=N] [address=A].", 0, 0},
    {"ssh", 0, FLAG_TEXT, "COMMAND", TARGET_GROUP("ssh"),
     "The client with its options, instead of '" SSH_CLIENT "'.", 0, 0},
    {"gpus", 0, FLAG_COUNT, "N", TARGET_GROUP("compose"),
     "GPUs of the machine, instead of those found on this one.", 0, CUDA_GPUS_MAX},
    {"dry-run", 0, FLAG_SWITCH, NULL, SHOW,
     "Check everything and print machines and tasks; start nothing.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, SHOW, "Let --dry-run print JSON, with the TF_CONFIG of each task.", 0, 0},
    {"page", 0, FLAG_OPTION, "HOST:PORT", SHOW,
     "Serve the job's page as long as it runs: here, or, with ssh and kubernetes, at a port of the master's host.",
     0, 0},
    {"stream-logs", 0, FLAG_SWITCH, NULL, SHOW, "Show what tasks print: always so here.", 0, 0},
    {"async", 0, FLAG_SWITCH, NULL, SHOW,
     "Submit, and do not wait; for targets whose tasks live on: kubernetes and slurm.", 0, 0},
};

const command command_submit = {
    .name = "submit",
    .operands = "JOB",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Run a training job that is written for AI Platform or Vertex AI.",
    .about = "Runs a job of AI Platform's or Vertex AI's form, from a job file (--config), gcloud's flags, "
             "or both: a flag goes over its field of the file. What stands behind -- are arguments of `tequio "
             "train` for each task, the config file first; --job-dir, before it, is handed on.\n\n"
             "The exit code is the primary's. A task that dies is started again up to five times, and "
             "then the whole job up to three times.",
    .flags = submit_flags,
    .n_flags = COUNT_OF(submit_flags),
    .takes_rest = true,
    .run = run_submit,
};
