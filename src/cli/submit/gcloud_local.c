/*
 * `tequio local`: what `gcloud ai-platform local train` does, with its flags, defaults and exit
 * code. One process, or with --distributed a cluster on this machine: the primary, which trains,
 * two servers and two workers unless told otherwise, on ports from 27182 on. Nobody is started
 * again, and the primary decides: with its end the others end, and its code is ours.
 */
#include "cli/commands.h"
#include "cli/run/oversubscription.h"
#include "cli/run/page_beside.h"
#include "cli/run/page_price.h"
#include "cli/submit/report.h"
#include "cli/submit/target.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/gcs.h"
#include "common/base/json.h"
#include "job/local.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_COUNT = 2 };

typedef struct rehearsal {
    const args *args;
    const char **arguments; /* of every task: "train", ... */
    char *job;              /* TF_CONFIG's field of that name */
    char *job_dir;          /* as a path; NULL: none was given */
    const char *price;      /* --price among the arguments; NULL: none */
    char *served[2];        /* "--page=PLACE", "--metrics=PLACE", of a job in one process; NULL: none */
    roster_shape shape;
} rehearsal;

/* --- what is asked for --- */

/* Paths count from the folder above the package's, where gcloud would run it. */
static status enter_folder(const args *a, error *err)
{
    const char *package = args_text(a, "package-path");
    if (args_has(a, "module-name"))
        fprintf(stderr, "tequio: --module-name is ignored: it is of Python\n");
    if (!package)
        return OK;
    char *path = realpath(package, NULL);
    status st = path && chdir(dirname(path)) == 0
                    ? OK
                    : FAIL(err, E_USAGE, "local: --package-path '%s': %m", package);
    free(path);
    return st;
}

/* 0 becomes the default too: gcloud has it so. */
static int count_of(const args *a, const char *name)
{
    int n = (int)args_count(a, name, 0);
    return n ? n : DEFAULT_COUNT;
}

static void warn_of_counts(const args *a)
{
    static const char *const flags[] = {"parameter-server-count", "worker-count", "evaluator-count",
                                        "start-port"};
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (args_has(a, flags[i]))
            fprintf(stderr, "tequio: --%s is ignored if --distributed is not provided.\n",
                    flags[i]);
}

static void choose_shape(rehearsal *r)
{
    const args *a = r->args;
    r->shape = (roster_shape){
        .counts = {[ROLE_MASTER] = 1,
                   [ROLE_PS] = count_of(a, "parameter-server-count"),
                   [ROLE_WORKER] = count_of(a, "worker-count"),
                   [ROLE_EVALUATOR] = (int)args_count(a, "evaluator-count", 0)},
        .primary = "chief",
        .gcloud_job = r->job,
        .start_port = (int)args_count(a, "start-port", TARGET_FIRST_PORT),
    };
}

/* Of --page or --metrics; NULL: it is not given. */
static const char *place_of(const args *a, const char *name)
{
    const char *place = args_text(a, name);
    return place && !*place ? PAGE_PLACE : place;
}

static void choose_arguments(rehearsal *r)
{
    static const char *const served[] = {"page", "metrics"};
    const char *name = args_text(r->args, "module-name"), *dir = args_text(r->args, "job-dir");
    size_t n = 0, at = 0;
    while (r->args->rest[n])
        n++;
    r->arguments = xcalloc(n + 6, sizeof *r->arguments);
    r->arguments[at++] = "train";
    for (size_t i = 0; i < n; i++)
        r->arguments[at++] = r->args->rest[i];
    if (dir) {
        r->arguments[at++] = "--job-dir";
        r->arguments[at++] = dir;
    }
    for (size_t i = 0; i < COUNT_OF(r->served) && !args_has(r->args, "distributed"); i++)
        if (args_has(r->args, served[i])) {
            r->served[i] = xasprintf("--%s=%s", served[i], place_of(r->args, served[i]));
            r->arguments[at++] = r->served[i];
        }
    json_t *list = json_array();
    for (size_t i = 1; i < at; i++)
        json_array_append_new(list, json_string(r->arguments[i]));
    json_t *field = json_pack("{s:o, s:s}", "args", list, "job_name", name ? name : "tequio.train");
    r->job = json_text(field);
    json_decref(field);
}

/* The page of a cluster is served here. */
static status read_price(rehearsal *r, error *err)
{
    args train;
    int n = 0;
    while (r->args->rest[n])
        n++;
    TRYF(args_parse(&command_train, n, (char *const *)(uintptr_t)r->args->rest, &train, err), err,
         "local: the arguments behind --");
    TRYF(page_price_check(&train, err), err, "local");
    r->price = args_text(&train, "price");
    return OK;
}

/* --- one process --- */

static char *lone_tf_config(const rehearsal *r)
{
    return xasprintf("{\"cluster\":{},\"environment\":\"cloud\",\"job\":%s,\"task\":{}}", r->job);
}

/* It takes this one's place, and so does its exit code. */
static status run_alone(const rehearsal *r, error *err)
{
    char *text = lone_tf_config(r);
    setenv("TF_CONFIG", text, 1);
    free(text);
    size_t n = 0;
    while (r->arguments[n])
        n++;
    char **argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = "tequio";
    memcpy(argv + 1, r->arguments, n * sizeof *argv);
    execv("/proc/self/exe", argv);
    free(argv);
    return FAIL(err, E_IO, "start this program again: %m");
}

/* --- a cluster --- */

static status print_tasks(const rehearsal *r, error *err)
{
    if (!args_has(r->args, "distributed")) {
        char *text = lone_tf_config(r);
        printf("TF_CONFIG='%s'\n", text);
        free(text);
        return OK;
    }
    roster tasks;
    TRY(roster_check_ports(&r->shape, err));
    roster_plan(&r->shape, &tasks);
    report_tasks(&tasks, args_has(r->args, "json"));
    roster_close(&tasks);
    return OK;
}

static int run_cluster(const rehearsal *r, error *err)
{
    if (!r->job_dir)
        return status_exit_code(FAIL(
            err, E_USAGE, "local: --job-dir DIR is missing; with --distributed tasks share one"));
    char *logs = xasprintf("%s/log", r->job_dir);
    page_beside page = PAGE_BESIDE_NONE;
    status st = page_beside_open(&(page_words){.place = place_of(r->args, "page"), .price = r->price}, &page, err);
    if (st == OK)
        st = fs_mkdirs(logs, err);
    if (st == OK)
        page_beside_begin(&page, r->job_dir);
    local_options options = {
        .shape = r->shape,
        .arguments = r->arguments,
        .log_dir = logs,
        .primary_decides = true,
        .grace_ms = TARGET_GRACE_MS,
        .hang_ms = TARGET_HANG_MS,
        .metrics = place_of(r->args, "metrics"),
    };
    int code = st == OK ? local_run(&options, err) : status_exit_code(st);
    page_beside_end(&page);
    free(logs);
    return code;
}

static void warn_of_oversubscription(const roster_shape *shape)
{
    int all = 0;
    for (role r = 0; r < ROLE_COUNT; r++)
        all += shape->counts[r];
    oversubscription_warn(all, shape->counts[ROLE_MASTER] + shape->counts[ROLE_WORKER],
                          "--worker-count says how many");
}

static int gcloud_local_run(rehearsal *r, error *err)
{
    const char *dir = args_text(r->args, "job-dir");
    bool is_distributed = args_has(r->args, "distributed");
    choose_arguments(r);
    choose_shape(r);
    if (!is_distributed)
        warn_of_counts(r->args);
    if (is_distributed)
        warn_of_oversubscription(&r->shape);
    if (args_has(r->args, "json") && !args_has(r->args, "dry-run"))
        return status_exit_code(FAIL(err, E_USAGE, "local: --json is the form of --dry-run's report; add --dry-run"));
    status st = is_distributed ? read_price(r, err) : OK;
    if (st == OK && args_has(r->args, "dry-run"))
        return status_exit_code(print_tasks(r, err));
    if (st == OK && dir)
        st = gcs_path(dir, &r->job_dir, err);
    if (st == OK && is_distributed)
        return run_cluster(r, err);
    return status_exit_code(st == OK ? run_alone(r, err) : st);
}

static int run_local(const args *a, error *err)
{
    rehearsal r = {.args = a};
    if (a->n_operands && strcmp(a->operands[0], "train") != 0)
        return status_exit_code(
            FAIL(err, E_USAGE,
                 "local: '%s' is not known; the config file of `tequio train` goes "
                 "behind the --",
                 a->operands[0]));
    status st = enter_folder(a, err);
    int code = st == OK ? gcloud_local_run(&r, err) : status_exit_code(st);
    free(r.arguments);
    free(r.job);
    free(r.job_dir);
    for (size_t i = 0; i < COUNT_OF(r.served); i++)
        free(r.served[i]);
    return code;
}

#define TASKS "Its tasks"
#define PLACE "Where to write"
#define CODE  "What is for Python"
#define SHOW  "What to show"

static const flag local_flags[] = {
    {"distributed", 0, FLAG_SWITCH, NULL, TASKS, "A cluster of processes instead of one.", 0, 0},
    {"parameter-server-count", 0, FLAG_COUNT, "N", TASKS,
     "Parameter servers; 2 if not given, or 0.", 0, 255},
    {"worker-count", 0, FLAG_COUNT, "N", TASKS, "Workers beside the primary; 2 if not given, or 0.",
     0, 4096},
    {"evaluator-count", 0, FLAG_COUNT, "N", TASKS, "Evaluators.", 0, 1},
    {"start-port", 0, FLAG_COUNT, "PORT", TASKS,
     "The primary's port, 27182 if not given; servers and workers have the following ones.", 1,
     PORT_MOST},
    {"job-dir", 0, FLAG_PATH, "DIR", PLACE, "Handed on to the program.", 0, 0},
    {"module-name", 0, FLAG_TEXT, "NAME", CODE, "Ignored, but for the name in TF_CONFIG.", 0, 0},
    {"package-path", 0, FLAG_PATH, "DIR", CODE, "Paths count from the folder above it.", 0, 0},
    {"page", 0, FLAG_OPTION, "HOST:PORT", SHOW,
     "Serve the job's page as long as it runs, on this machine's loopback interface unless told where.", 0, 0},
    {"metrics", 0, FLAG_OPTION, "HOST:PORT", SHOW,
     "Let every task serve its figures to Prometheus, likewise; JOB_DIR/log/prometheus.json says where.", 0, 0},
    {"dry-run", 0, FLAG_SWITCH, NULL, SHOW, "Say where the tasks are; start nothing.", 0, 0},
    {"json", 0, FLAG_SWITCH, NULL, SHOW, "Let --dry-run print JSON, with the TF_CONFIG of each task.", 0, 0},
};

const command command_local = {
    .name = "local",
    .operands = "[train]",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "Train here as `gcloud ai-platform local train` does.",
    .about = "Takes the flags of `gcloud ai-platform local train`, with its defaults. What stands "
             "behind -- are arguments of `tequio train`, the config file first.\n\n"
             "The exit code is the primary's. No task is started again; with the primary's end the "
             "others are ended.",
    .flags = local_flags,
    .n_flags = COUNT_OF(local_flags),
    .takes_rest = true,
    .run = run_local,
};
