/* What the files of MLflow's tracker share. Threads: as mlflow.h. */
#ifndef TEQUIO_WATCH_TRACK_MLFLOW_INTERNAL_H
#define TEQUIO_WATCH_TRACK_MLFLOW_INTERNAL_H

#include "watch/track/mlflow.h"
#include "watch/track/mlflow_call.h"
#include "watch/track/ledger.h"

enum { MLFLOW_BATCH = 1000, MLFLOW_PARAMETERS = 100 }; /* of a call, as MLflow limits them */

struct mlflow {
    const json_t *settings, *config;
    char *job_dir;
    mlflow_server server;
    ledger out;             /* open while something is sent */
    char *run;
    int64_t begun_ms;       /* the run, as its server says */
    bool said_no_files;
    bool is_sure;           /* the ledger knows all that the server took */
};

/* Numbers of 64 bits are strings in protobuf's JSON, and MLflow's are not always. */
int64_t mlflow_integer(const json_t *value);
const char *mlflow_setting(const mlflow *m, const char *key);   /* NULL: null */
char *mlflow_file(const mlflow *m, const char *name);           /* of the job dir; the caller's */
/* When it was changed, milliseconds since 1970, and what tells it from what it was ("" if it is not there). */
int64_t mlflow_file_state(const char *path, char ret[64]);

/* The run: the one that this job has there, or a new one. */
MUST_USE status mlflow_find_run(mlflow *m, const char *job_id, error *err);
/* Metrics of the lines that are new; *ret_sent grows. */
MUST_USE status mlflow_send_lines(mlflow *m, int64_t *ret_sent, error *err);
/* Metrics, at most MLFLOW_BATCH a call, those of a step in one if they fit; the list is the call's to free. */
MUST_USE status mlflow_send_metrics(mlflow *m, json_t *metrics, error *err);
/* A number as a metric at the end of the list; what is no number is left out. */
void mlflow_add_metric(json_t *list, const char *prefix, const char *name, const json_t *value, int64_t step,
                       int64_t time_ms);
/* A key of a line or of metrics.json that says where training stands, and is no metric of the model. */
bool mlflow_is_fact(const char *key);
/* Figures and files of a job that has ended. */
MUST_USE status mlflow_send_end(mlflow *m, int64_t *ret_sent, error *err);

#endif
