/* The run that a job has: found by the job's id, so that it has one, whatever died between making it and noting it. */
#include "watch/track/mlflow_internal.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "watch/track/mlflow_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOB_TAG "tequio.job_id"

/* --- the experiment --- */

static status make_experiment(mlflow *m, const char *name, char **ret, char word[MLFLOW_CODE], error *err)
{
    json_t *made = NULL;
    TRY(mlflow_post(&m->server, "experiments/create", json_pack("{s:s}", "name", name), &made, word, err));
    const char *id = json_string_value(json_object_get(made, "experiment_id"));
    *ret = xstrdup(id ? id : "");
    json_decref(made);
    return OK;
}

static status look_for_experiment(mlflow *m, const char *name, char **ret, char word[MLFLOW_CODE], error *err)
{
    json_t *found = NULL;
    buf query = BUF_INIT;
    buf_adds(&query, "experiments/get-by-name?experiment_name=");
    http_client_escape(name, &query);
    status st = mlflow_get(&m->server, query.data, &found, word, err);
    buf_fini(&query);
    TRY(st);
    const json_t *one = json_object_get(found, "experiment");
    const char *id = json_string_value(json_object_get(one, "experiment_id"));
    const char *stage = json_string_value(json_object_get(one, "lifecycle_stage"));
    if (stage && strcmp(stage, "deleted") == 0)
        st = FAIL(err, E_CONFIG, "experiment '%s' was deleted at '%s': restore it, or name another", name,
                  m->server.uri);
    else
        *ret = xstrdup(id ? id : "");
    json_decref(found);
    return st;
}

/* Somebody else may make it at the same time. */
static status find_experiment(mlflow *m, char **ret, error *err)
{
    const char *given = mlflow_setting(m, "experiment"), *of_user = getenv("MLFLOW_EXPERIMENT_NAME");
    const char *name = given ? given : of_user && *of_user ? of_user : "Default";
    char word[MLFLOW_CODE];
    error why = ERROR_INIT;
    status st = look_for_experiment(m, name, ret, word, &why);
    if (st != OK && strcmp(word, "RESOURCE_DOES_NOT_EXIST") == 0) {
        why = (error)ERROR_INIT;
        st = make_experiment(m, name, ret, word, &why);
    }
    if (st != OK && strcmp(word, "RESOURCE_ALREADY_EXISTS") == 0) {
        why = (error)ERROR_INIT;
        st = look_for_experiment(m, name, ret, word, &why);
    }
    return st == OK ? OK : FAIL(err, st, "%s", why.text);
}

/* --- the run --- */

/* NULL: there is none. */
static status look_for_run(mlflow *m, const char *experiment, const char *job_id, json_t **ret, error *err)
{
    char filter[96];
    json_t *found = NULL;
    snprintf(filter, sizeof filter, "tags.`" JOB_TAG "` = '%s'", job_id);
    json_t *body = json_pack("{s:[s], s:s, s:i}", "experiment_ids", experiment, "filter", filter, "max_results", 1);
    TRY(mlflow_post(&m->server, "runs/search", body, &found, NULL, err));
    *ret = json_incref(json_array_get(json_object_get(found, "runs"), 0));
    json_decref(found);
    return OK;
}

static void add_tag(json_t *tags, const char *key, const char *value)
{
    char name[MLFLOW_NAME], *cut = mlflow_value(value ? value : "", MLFLOW_TAG_MOST);
    if (*cut)
        json_array_append_new(tags, json_pack("{s:s, s:s}", "key", mlflow_name("", key, name), "value", cut));
    free(cut);
}

static json_t *tags_of(const mlflow *m, const char *job_id)
{
    char host[256] = "", *dir = realpath(m->job_dir, NULL);
    const char *key, *user = getenv("USER");
    json_t *value, *tags = json_array();
    (void)!gethostname(host, sizeof host - 1);
    add_tag(tags, JOB_TAG, job_id);
    add_tag(tags, "tequio.version", TEQUIO_VERSION);
    add_tag(tags, "tequio.job_dir", dir ? dir : m->job_dir);
    free(dir);
    add_tag(tags, "tequio.host", host);
    add_tag(tags, "mlflow.source.name", "tequio");
    add_tag(tags, "mlflow.source.type", "JOB");
    add_tag(tags, "mlflow.user", user ? user : getenv("LOGNAME"));
    json_object_foreach(json_object_get(m->settings, "tags"), key, value)
        add_tag(tags, key, json_string_value(value));
    return tags;
}

/* So that the newest line is told at the moment at which it was written. */
static int64_t begin_of_job_ms(const mlflow *m)
{
    char state[64], *path = mlflow_file(m, "metrics.jsonl");
    json_t *last = growth_last(path);
    int64_t written_ms = mlflow_file_state(path, state);
    int64_t taken_ms = (int64_t)(json_number_value(json_object_get(last, "wall_s")) * 1000);
    json_decref(last);
    free(path);
    return (written_ms ? written_ms : (int64_t)(clock_wall_s() * 1000)) - taken_ms;
}

static const char *name_of_run(const mlflow *m)
{
    const char *given = mlflow_setting(m, "run_name"), *slash = strrchr(m->job_dir, '/');
    return given ? given : slash && slash[1] ? slash + 1 : m->job_dir;
}

static status make_run(mlflow *m, const char *experiment, const char *job_id, json_t **ret, error *err)
{
    json_t *made = NULL;
    json_t *body = json_pack("{s:s, s:s, s:I, s:o}", "experiment_id", experiment, "run_name", name_of_run(m),
                             "start_time", (json_int_t)begin_of_job_ms(m), "tags", tags_of(m, job_id));
    TRY(mlflow_post(&m->server, "runs/create", body, &made, NULL, err));
    *ret = json_incref(json_object_get(made, "run"));
    json_decref(made);
    return OK;
}

static status note_run(mlflow *m, const json_t *run, bool is_new, error *err)
{
    const json_t *info = json_object_get(run, "info");
    const char *id = json_string_value(json_object_get(info, "run_id"));
    const char *files = json_string_value(json_object_get(info, "artifact_uri"));
    const char *stands = json_string_value(json_object_get(info, "status"));
    if (!id || !*id)
        return FAIL(err, E_IO, "'%s': it made a run and does not say which", m->server.uri);
    ledger_set_text(&m->out, "run_id", id);
    ledger_set_text(&m->out, "files_at", files ? files : "");
    ledger_set_text(&m->out, "status", stands ? stands : "RUNNING");
    json_object_set_new(m->out.sent, "begun_ms", json_integer(mlflow_integer(json_object_get(info, "start_time"))));
    LOG_I("TRACKED", "MLflow's run %s of '%s'%s", id, m->server.uri, is_new ? "" : ", which was there");
    return ledger_save(&m->out, err);
}

static status begin_run(mlflow *m, const char *job_id, error *err)
{
    char *experiment = NULL;
    json_t *run = NULL;
    status st = find_experiment(m, &experiment, err);
    if (st == OK)
        st = look_for_run(m, experiment, job_id, &run, err);
    bool is_new = !run;
    if (st == OK && is_new)
        st = make_run(m, experiment, job_id, &run, err);
    if (st == OK)
        st = note_run(m, run, is_new, err);
    json_decref(run);
    free(experiment);
    return st;
}

status mlflow_find_run(mlflow *m, const char *job_id, error *err)
{
    if (!*ledger_text(&m->out, "run_id"))
        TRY(begin_run(m, job_id, err));
    free(m->run);
    m->run = xstrdup(ledger_text(&m->out, "run_id"));
    m->begun_ms = json_integer_value(json_object_get(m->out.sent, "begun_ms"));
    return OK;
}
