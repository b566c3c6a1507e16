#include "watch/track/mlflow_call.h"

#include "common/base/alloc.h"
#include "common/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LIMIT_S = 30, SAID = 300 };

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

status mlflow_server_open(const char *uri, mlflow_server *ret, error *err)
{
    const char *at = uri ? uri : setting("MLFLOW_TRACKING_URI"), *all = setting("MLFLOW_TRACKING_INSECURE_TLS");
    if (!at)
        return FAIL(err, E_CONFIG, "uri: where MLflow's server is, is missing; MLFLOW_TRACKING_URI may say it too");
    if (strncmp(at, "http://", 7) != 0 && strncmp(at, "https://", 8) != 0)
        return FAIL(err, E_CONFIG, "uri: '%s': only servers are known, as http://HOST:PORT", at);
    http_client_options o = {.what = "MLflow's server",
                             .bearer = setting("MLFLOW_TRACKING_TOKEN"),
                             .user = setting("MLFLOW_TRACKING_USERNAME"),
                             .password = setting("MLFLOW_TRACKING_PASSWORD"),
                             .authorities = setting("MLFLOW_TRACKING_SERVER_CERT_PATH"),
                             .believes_all = all && (strcasecmp(all, "true") == 0 || strcmp(all, "1") == 0)};
    mlflow_server s = {0};
    TRY(http_client_open(&o, &s.client, err));
    s.uri = xstrdup(at);
    for (size_t n = strlen(s.uri); n && s.uri[n - 1] == '/'; n--)
        s.uri[n - 1] = '\0';
    *ret = s;
    return OK;
}

void mlflow_server_close(mlflow_server *s)
{
    http_client_close(&s->client);
    free(s->uri);
    s->uri = NULL;
}

/* What it says of its refusal, on one line. */
static status refuse(const char *url, int code, const buf *answer, char ret_code[MLFLOW_CODE], error *err)
{
    json_t *said = NULL;
    (void)!json_parse(answer->data, answer->size, url, E_DATA, &said, NULL);
    const char *word = json_string_value(json_object_get(said, "error_code"));
    const char *text = json_string_value(json_object_get(said, "message"));
    if (ret_code)
        snprintf(ret_code, MLFLOW_CODE, "%s", word ? word : "");
    status st = FAIL(err, E_IO, "'%s': answered by %d%s%.*s", url, code, text || answer->size ? ": " : "", SAID,
                     text ? text : answer->data);
    json_decref(said);
    return st;
}

static status ask(mlflow_server *s, const http_call *call, json_t **ret, char ret_code[MLFLOW_CODE], error *err)
{
    buf answer = BUF_INIT;
    int code = 0;
    if (ret_code)
        ret_code[0] = '\0';
    status st = http_client_ask(s->client, call, &code, &answer, err);
    if (st == OK && code != 200)
        st = refuse(call->url, code, &answer, ret_code, err);
    if (st == OK && ret)
        st = json_parse(answer.data, answer.size, call->url, E_IO, ret, err);
    buf_fini(&answer);
    return st;
}

static char *api(const mlflow_server *s, const char *what)
{
    return xasprintf("%s/api/2.0/mlflow/%s", s->uri, what);
}

status mlflow_post(mlflow_server *s, const char *what, json_t *body, json_t **ret, char ret_code[MLFLOW_CODE],
                   error *err)
{
    char *url = api(s, what), *text = json_text(body);
    json_decref(body);
    http_call call = {.method = "POST", .url = url, .body = text, .bytes = strlen(text), .limit_s = LIMIT_S};
    status st = ask(s, &call, ret, ret_code, err);
    free(text);
    free(url);
    return st;
}

status mlflow_get(mlflow_server *s, const char *what_and_query, json_t **ret, char ret_code[MLFLOW_CODE], error *err)
{
    char *url = api(s, what_and_query);
    status st = ask(s, &(http_call){.method = "GET", .url = url, .limit_s = LIMIT_S}, ret, ret_code, err);
    free(url);
    return st;
}

status mlflow_put_file(mlflow_server *s, const char *place, const char *path, error *err)
{
    char *url = xasprintf("%s/api/2.0/mlflow-artifacts/artifacts/%s", s->uri, place);
    http_call call = {
        .method = "PUT", .url = url, .file = path, .type = "application/octet-stream", .limit_s = LIMIT_S};
    status st = ask(s, &call, NULL, NULL, err);
    free(url);
    return st;
}
