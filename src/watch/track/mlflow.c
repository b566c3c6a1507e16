#include "watch/track/mlflow.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "watch/track/mlflow_internal.h"
#include "watch/track/mlflow_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

status mlflow_open(const json_t *settings, const json_t *config, const char *job_dir, mlflow **ret, error *err)
{
    mlflow_server server;
    TRY(mlflow_server_open(json_string_value(json_object_get(settings, "uri")), &server, err));
    mlflow *m = xcalloc(1, sizeof *m);
    *m = (mlflow){.settings = settings,
                  .config = config,
                  .job_dir = xstrdup(job_dir),
                  .server = server,
                  .out = {.lock_fd = -1},
                  .run = xstrdup("")};
    *ret = m;
    return OK;
}

void mlflow_close(mlflow **m)
{
    if (!*m)
        return;
    mlflow_server_close(&(*m)->server);
    free((*m)->job_dir);
    free((*m)->run);
    free(*m);
    *m = NULL;
}

void mlflow_end_by(mlflow *m, int64_t when_us)
{
    http_client_end_by(m->server.client, when_us);
}

bool mlflow_pause(mlflow *m, int64_t us)
{
    return http_client_pause(m->server.client, us);
}

const char *mlflow_run(const mlflow *m)
{
    return m->run;
}

/* --- what is sent once --- */

static status send_parameters(mlflow *m, error *err)
{
    if (json_is_true(json_object_get(m->out.sent, "parameters")))
        return OK;
    json_t *all = mlflow_parameters(m->config, "trackers");
    status st = OK;
    for (size_t i = 0; st == OK && i < json_array_size(all); i += MLFLOW_PARAMETERS) {
        json_t *some = json_array();
        for (size_t k = i; k < json_array_size(all) && k < i + MLFLOW_PARAMETERS; k++)
            json_array_append(some, json_array_get(all, k));
        st = mlflow_post(&m->server, "runs/log-batch", json_pack("{s:s, s:o}", "run_id", m->run, "params", some), NULL,
                         NULL, err);
    }
    json_decref(all);
    TRY(st);
    json_object_set_new(m->out.sent, "parameters", json_true());
    return ledger_save(&m->out, err);
}

/* --- how the run stands --- */

/* Tells it where that is not known there. */
static status send_status(mlflow *m, const char *how, error *err)
{
    const char *known = ledger_text(&m->out, "status");
    if (strcmp(*known ? known : "RUNNING", how) == 0)
        return OK;
    json_t *body = json_pack("{s:s, s:s}", "run_id", m->run, "status", how);
    if (strcmp(how, "RUNNING") != 0)
        json_object_set_new(body, "end_time", json_integer((json_int_t)(clock_wall_s() * 1000)));
    TRY(mlflow_post(&m->server, "runs/update", body, NULL, NULL, err));
    ledger_set_text(&m->out, "status", how);
    return ledger_save(&m->out, err);
}

/* --- all of it --- */

static status send_all(mlflow *m, const char *job_id, const char *how, int64_t *ret_sent, error *err)
{
    TRY(mlflow_find_run(m, job_id, err));
    TRY(send_parameters(m, err));
    if (!how)
        TRY(send_status(m, "RUNNING", err));
    TRY(mlflow_send_lines(m, ret_sent, err));
    if (!how)
        return OK;
    TRY(mlflow_send_end(m, ret_sent, err));
    return send_status(m, how, err);
}

/* Of a job that has come to its first step there is a line. */
static bool has_begun(const mlflow *m)
{
    char state[64], *path = mlflow_file(m, "metrics.jsonl");
    mlflow_file_state(path, state);
    free(path);
    return state[0] && state[0] != '0';
}

static status read_job_id(const mlflow *m, char ret[24], error *err)
{
    char *path = mlflow_file(m, "job.json");
    json_t *job = NULL;
    status st = json_read_file(path, &job, err);
    const char *id = json_string_value(json_object_get(job, "job_id"));
    if (st == OK)
        snprintf(ret, 24, "%s", id ? id : "");
    if (st == OK && !id)
        st = FAIL(err, E_DATA, "'%s' has no job_id", path);
    json_decref(job);
    free(path);
    return st;
}

status mlflow_send(mlflow *m, const char *how, int64_t *ret_sent, error *err)
{
    char job_id[24];
    *ret_sent = 0;
    if (!has_begun(m))
        return OK;
    TRY(read_job_id(m, job_id, err));
    const char *experiment = mlflow_setting(m, "experiment");
    char *to = xasprintf("%s %s", m->server.uri, experiment ? experiment : "");
    status st = ledger_open(m->job_dir, "mlflow", to, job_id, &m->out, err);
    free(to);
    if (st == OK)
        st = send_all(m, job_id, how, ret_sent, err);
    m->is_sure = m->is_sure && st == OK;
    ledger_close(&m->out);
    return st;
}
