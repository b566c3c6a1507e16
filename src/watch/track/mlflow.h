/*
 * A job in MLflow, by its REST API: a run, whose parameters are the configuration, whose metrics are the lines of
 * metrics.jsonl and eval/metrics.jsonl, and in the end the figures of metrics.json and some files. All is read from the
 * job dir, at any moment, and what was sent is noted there (ledger.h); so what a server that was down missed is sent
 * later, and once: the time of a metric follows from the files, by which MLflow knows one that it has. A job that is
 * resumed goes on in its run; steps that it trains again are not told again.
 *
 * Threads: one; mlflow_end_by is any thread's.
 */
#ifndef TEQUIO_WATCH_TRACK_MLFLOW_H
#define TEQUIO_WATCH_TRACK_MLFLOW_H

#include "common/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct mlflow mlflow;

/* `settings`: an item of the option `trackers`, whole; `config`: the job's configuration. Both are kept by reference.
 * E_CONFIG: no server is named, or libcurl is missing. */
MUST_USE status mlflow_open(const json_t *settings, const json_t *config, const char *job_dir, mlflow **ret,
                            error *err);
void mlflow_close(mlflow **m);

/* Sends what there is to be sent by now; nothing of a job that has not come to its first step. `how` NULL: the job
 * runs; else how it ended, in MLflow's word: FINISHED, FAILED or KILLED; files and figures of its end are then sent
 * too. *ret_sent: metrics. E_BUSY: somebody else sends; E_IO, E_ABORTED and others: the rest can be sent later. */
MUST_USE status mlflow_send(mlflow *m, const char *how, int64_t *ret_sent, error *err);

/* From that moment (clock_us) on nothing is waited for; false: that moment has come. */
void mlflow_end_by(mlflow *m, int64_t when_us);
/* Waits so long, or until mlflow_end_by says another moment; not at all if it did since the last pause. */
bool mlflow_pause(mlflow *m, int64_t us);

/* The run, "" before there is one. */
const char *mlflow_run(const mlflow *m);

#endif
