/*
 * One call of MLflow's REST API, version 2.0: JSON there and back.
 *
 * Threads: those of http_client.
 */
#ifndef TEQUIO_WATCH_TRACK_MLFLOW_CALL_H
#define TEQUIO_WATCH_TRACK_MLFLOW_CALL_H

#include "watch/http/client.h"

#include <jansson.h>

typedef struct mlflow_server {
    http_client *client;
    char *uri;          /* without a '/' at its end */
} mlflow_server;

/* `uri` NULL: MLFLOW_TRACKING_URI. Who asks is MLFLOW_TRACKING_TOKEN's, or MLFLOW_TRACKING_USERNAME's and _PASSWORD's,
 * which are nowhere written; MLFLOW_TRACKING_SERVER_CERT_PATH and _INSECURE_TLS say whom it believes. E_CONFIG. */
MUST_USE status mlflow_server_open(const char *uri, mlflow_server *ret, error *err);
void mlflow_server_close(mlflow_server *s);

/* POST of `body`, which is the call's to free. *ret, the caller's, may be NULL: nobody asks. E_IO with what the server
 * says: it took it not. *ret_code, which may be NULL, of an answer: MLflow's word of what is wrong, "" if nothing. */
enum { MLFLOW_CODE = 64 };
MUST_USE status mlflow_post(mlflow_server *s, const char *what, json_t *body, json_t **ret, char ret_code[MLFLOW_CODE],
                            error *err);
MUST_USE status mlflow_get(mlflow_server *s, const char *what_and_query, json_t **ret, char ret_code[MLFLOW_CODE],
                           error *err);
/* A file, to a place below the server's artifacts. */
MUST_USE status mlflow_put_file(mlflow_server *s, const char *place, const char *path, error *err);

#endif
