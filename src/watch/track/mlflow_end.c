/* What a job leaves at its end: the figures of metrics.json that are no curves, and files, where the server takes files
 * in for others (mlflow-artifacts). Each is sent again if it has changed since, as of a job whose end was moved. */
#include "watch/track/mlflow_internal.h"

#include "common/base/alloc.h"
#include "common/base/json.h"
#include "common/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files that were sent, as they were. */
static json_t *files_sent(mlflow *m)
{
    json_t *files = json_object_get(m->out.sent, "files");
    if (!json_is_object(files)) {
        files = json_object();
        json_object_set_new(m->out.sent, "files", files);
    }
    return files;
}

/* Whether it is there, and not as it was when it was sent. */
static bool is_news(mlflow *m, const char *key, const char *path, char ret_state[64], int64_t *ret_ms)
{
    *ret_ms = mlflow_file_state(path, ret_state);
    const char *sent = json_string_value(json_object_get(files_sent(m), key));
    return ret_state[0] && !(sent && strcmp(sent, ret_state) == 0);
}

static status note_sent(mlflow *m, const char *key, const char *state, error *err)
{
    json_object_set_new(files_sent(m), key, json_string(state));
    return ledger_save(&m->out, err);
}

/* --- figures --- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static status send_figures_of(mlflow *m, const char *path, int64_t ms, int64_t *ret_sent, error *err)
{
    json_t *figures = NULL, *metrics = json_array(), *value;
    const char *key;
    int64_t step = ledger_last_step(&m->out, "metrics.jsonl");
    status st = json_read_file(path, &figures, err);
    json_object_foreach(figures, key, value)
        if (!begins(key, "training_") && !begins(key, "validation_") && !mlflow_is_fact(key))
            mlflow_add_metric(metrics, "", key, value, step, ms);
    json_decref(figures);
    if (st != OK) {
        json_decref(metrics);
        return st;
    }
    *ret_sent += (int64_t)json_array_size(metrics);
    return mlflow_send_metrics(m, metrics, err);
}

static status send_figures(mlflow *m, int64_t *ret_sent, error *err)
{
    static const char key[] = "figures of metrics.json";
    char state[64], *path = mlflow_file(m, "metrics.json");
    int64_t ms;
    status st = OK;
    if (is_news(m, key, path, state, &ms))
        st = send_figures_of(m, path, ms, ret_sent, err);
    if (st == OK && state[0])
        st = note_sent(m, key, state, err);
    free(path);
    return st;
}

/* --- files --- */

/* Where the server takes in what its clients send: mlflow-artifacts:/1/ID/artifacts, or with a host in front. NULL: it
 * does not, and clients are to reach a file system or a bucket themselves. */
static const char *place_of_files(const mlflow *m)
{
    static const char scheme[] = "mlflow-artifacts:";
    const char *at = ledger_text(&m->out, "files_at");
    if (!begins(at, scheme))
        return NULL;
    at += strlen(scheme);
    if (begins(at, "//")) {
        at = strchr(at + 2, '/');
        if (!at)
            return NULL;
    }
    return at + strspn(at, "/");
}

static status send_one(mlflow *m, const char *place, const char *name, error *err)
{
    char state[64], *path = mlflow_file(m, name);
    buf to = BUF_INIT;
    int64_t ms;
    buf_addf(&to, "%s/", place);
    http_client_escape(strrchr(name, '/') ? strrchr(name, '/') + 1 : name, &to);
    status st = OK;
    if (is_news(m, name, path, state, &ms)) {
        st = mlflow_put_file(&m->server, to.data, path, err);
        if (st == OK)
            st = note_sent(m, name, state, err);
    }
    buf_fini(&to);
    free(path);
    return st;
}

static status send_files(mlflow *m, error *err)
{
    static const char *const usual[] = {"config.json", "metrics.json", "summary.json", "model.tar.gz"};
    const json_t *names = json_object_get(m->settings, "artifacts");
    const char *place = place_of_files(m);
    size_t n = json_is_array(names) ? json_array_size(names) : COUNT_OF(usual);
    if (!place && n && !m->said_no_files) {
        m->said_no_files = true;
        LOG_I("TRACKED", "no files are sent: the server keeps them at '%s' and takes none in for that (mlflow server "
                         "--serve-artifacts)",
              ledger_text(&m->out, "files_at"));
    }
    for (size_t i = 0; place && i < n; i++)
        TRY(send_one(m, place, json_is_array(names) ? json_string_value(json_array_get(names, i)) : usual[i], err));
    return OK;
}

status mlflow_send_end(mlflow *m, int64_t *ret_sent, error *err)
{
    TRY(send_figures(m, ret_sent, err));
    return send_files(m, err);
}
