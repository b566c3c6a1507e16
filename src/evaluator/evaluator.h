/*
 * The evaluator: a process of its own that follows a training job through its job dir alone.
 *
 * It evaluates checkpoints as they appear, the newest first. One that was overtaken may be skipped,
 * but not the final one and not one at the end of an epoch, as long as they exist. What it reads
 * it pins. For each it appends to eval/metrics.jsonl and to the events in eval/, and writes
 * eval/step-<9 digits>.json last: that file says the checkpoint is done with, also to an evaluator
 * that is started again, and it is what a master waits for.
 *
 * It ends by itself, by the signs in the job dir (liveness.h): with OK once the final checkpoint is
 * evaluated, or the job is done and nothing is left to evaluate; with the master's own code as soon
 * as a start that it saw has failed or was preempted; with E_LOST when the master has shown no sign
 * of life for lost_timeout, or none at all within start_timeout.
 *
 * Threads: everything runs on the caller's, but for one that shows once a second that it lives (heartbeat.h).
 */
#ifndef TEQUIO_EVALUATOR_EVALUATOR_H
#define TEQUIO_EVALUATOR_EVALUATOR_H

#include "backend/registry.h"
#include "common/config/config.h"
#include "common/store/jobdir.h"
#include "evaluator/evaluation.h"
#include "metric/metric.h"

#include <stdatomic.h>

typedef struct evaluator_options {
    const config *config;
    const jobdir *dir;
    backend_choice device;
    const atomic_bool *stop;    /* NULL: never */
    const atomic_bool *stop_reading; /* data that are being read then are given up; NULL: `stop` */
    const char *data_path;      /* NULL: validation_data_path */
    double lost_timeout_s;      /* of both kinds; 0: distributed.lost_timeout, start_timeout */
} evaluator_options;

/* OK at the end of the job and when *stop became true; otherwise as said above. */
MUST_USE status evaluator_run(const evaluator_options *options, error *err);

typedef struct evaluator_request {
    const config *config;
    const char *model;          /* a folder checkpoints/step-N, or a .safetensors file */
    const char *data_path;      /* NULL: validation_data_path */
    const dataset_part *part;   /* of it; NULL: what validation_dataset_reader says */
    int64_t batch_size;         /* 0: validation_data_loader.batch_size */
    const char *batch_key;      /* where that is set, for messages; NULL: there */
    const char *vocabulary;     /* of the job; NULL: it has none */
    evaluation_details details; /* what is told beside the metrics */
    bool whole_length;          /* batches are as long as their fields say (evaluation.h) */
    backend_choice device;
    const atomic_bool *stop;    /* NULL: never */
} evaluator_request;

/* Share `share` of `shares` of an evaluation (evaluation_count), as bytes. */
MUST_USE status evaluator_count(const evaluator_request *request, int64_t share, int64_t shares, buf *ret,
                                error *err);

/* Appends what evaluator_count made of a share from 1 on, in another process. */
typedef status evaluator_other(void *user, int64_t share, buf *ret, error *err);

/* One model, once: share 0 here, and the others' from `other`, which may be NULL if there is one share. Gives
 * what evaluation_run does, and what request->details asks for (details_take), which the caller decrefs; ret_details
 * may be NULL where that is nothing. E_NONFINITE as evaluation_check has it. */
MUST_USE status evaluator_evaluate(const evaluator_request *request, int64_t shares, evaluator_other *other,
                                   void *user, metric_set *ret, metric_figures *ret_figures,
                                   json_t **ret_details, error *err);

/* One model, once: its answers, as evaluation_predict gives them. The data need no labels. */
MUST_USE status evaluator_predict(const evaluator_request *request, evaluation_taker *take,
                                  void *user, error *err);

#endif
