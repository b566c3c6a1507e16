/* `tequio track`: a job is told to its trackers, or to one that is named, from its job dir. */
#include "cli/commands.h"
#include "cli/inspect/text.h"
#include "cli/look/job_view.h"
#include "common/base/alloc.h"
#include "common/base/json.h"
#include "watch/track/mlflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In MLflow's word; NULL: it runs. */
static const char *how_it_stands(const job_view *v)
{
    static const char *const words[][2] = {{"running", NULL}, {"finished", "FINISHED"}, {"failed", "FAILED"}};
    const char *state = inspect_str(v->job, "state");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i][0], state) == 0)
            return words[i][1];
    return "KILLED"; /* preempted, or killed: it can go on */
}

/* One that the command line names takes the place of the configuration's. The caller's. */
static json_t *trackers_of(const args *a, const json_t *config)
{
    if (!args_has(a, "uri"))
        return json_incref(json_object_get(config, "trackers"));
    json_t *one = json_pack("{s:s}", "uri", args_text(a, "uri"));
    if (args_has(a, "experiment"))
        json_object_set_new(one, "experiment", json_string(args_text(a, "experiment")));
    if (args_has(a, "run-name"))
        json_object_set_new(one, "run_name", json_string(args_text(a, "run-name")));
    return json_pack("[o]", one);
}

static status send(const json_t *settings, const json_t *config, const char *dir, const char *how, error *err)
{
    mlflow *m = NULL;
    int64_t sent = 0;
    TRY(mlflow_open(settings, config, dir, &m, err));
    status st = mlflow_send(m, how, &sent, err);
    if (st == OK && *mlflow_run(m))
        printf("MLflow's run %s: %lld metrics sent\n", mlflow_run(m), (long long)sent);
    else if (st == OK)
        printf("nothing to send: the job has not come to its first step\n");
    mlflow_close(&m);
    return st;
}

static status send_to_each(const args *a, const json_t *config, const char *how, error *err)
{
    json_t *list = trackers_of(a, config), *one;
    status st = json_array_size(list) ? OK
                                      : FAIL(err, E_USAGE, "'%s' has no trackers in its configuration; --uri names one",
                                             a->operands[0]);
    size_t i;
    json_array_foreach(list, i, one)
        if (st == OK)
            st = send(one, config, a->operands[0], how, err);
    json_decref(list);
    return st;
}

static status track(const args *a, const char *dir, error *err)
{
    job_view v;
    json_t *config = NULL;
    char *path = xasprintf("%s/config.json", dir);
    status st = job_view_open(dir, &v, err);
    if (st == OK) {
        st = json_read_file(path, &config, err);
        if (st == OK)
            st = send_to_each(a, config, how_it_stands(&v), err);
        job_view_close(&v);
    }
    json_decref(config);
    free(path);
    return st;
}

static int run(const args *a, error *err)
{
    status st = track(a, a->operands[0], err);
    if (st != OK)
        error_prepend(err, "track");
    return status_exit_code(st);
}

#define WHERE "Where to"

static const flag flags[] = {
    {"uri", 0, FLAG_TEXT, "URI", WHERE,
     "A server of MLflow, as http://HOST:5000, in the place of the job's trackers.", 0, 0},
    {"experiment", 0, FLAG_TEXT, "NAME", WHERE, "The experiment there; with --uri.", 0, 0},
    {"run-name", 0, FLAG_TEXT, "NAME", WHERE, "What the run is called; with --uri. As the job dir if not given.", 0, 0},
};

const command command_track = {
    .name = "track",
    .operands = "JOB_DIR",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Tell a job to MLflow: what was not sent while it ran, or all of it.",
    .about = "Sends what the job's trackers (the option `trackers`) have not been told: metrics, parameters, how the "
             "job ended, and files. What was sent is noted in the job dir and is not sent again. With --uri any job "
             "can be told to a server, whatever its configuration says. Who asks is said by MLFLOW_TRACKING_TOKEN, or "
             "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.",
    .flags = flags,
    .n_flags = COUNT_OF(flags),
    .run = run,
};
