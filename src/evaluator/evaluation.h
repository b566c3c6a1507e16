/*
 * An evaluation: a model in evaluation mode over a whole set of examples, made once and run for as
 * many weights as come along. Weights are taken by tensor name, from a checkpoint or from a
 * safetensors file, so it does not matter how the training job laid them out.
 *
 * The metrics are a pure function of (weights, data, batch size, threads): examples in their own
 * order, sums in double.
 *
 * Threads: an evaluation belongs to the thread that opened it.
 */
#ifndef TEQUIO_EVALUATOR_EVALUATION_H
#define TEQUIO_EVALUATOR_EVALUATION_H

#include "backend/registry.h"
#include "common/config/config.h"
#include "common/store/weights.h"
#include "data/data.h"
#include "evaluator/details.h"
#include "graph/graph.h"
#include "metric/metric.h"
#include "metric/metrics.h"
#include "model/prediction.h"

#include <stdatomic.h>

enum { EVALUATION_INPUTS = 8, EVALUATION_OUTPUTS = 16 };

typedef struct evaluation evaluation;

typedef struct evaluation_options {
    const config *config;       /* of the whole job; kept until evaluation_close */
    const char *data_path;      /* NULL: validation_data_path */
    const dataset_part *part;   /* of it; NULL: what validation_dataset_reader says */
    int64_t batch_size;         /* 0: validation_data_loader.batch_size */
    const char *batch_key;      /* where that is set, for messages; NULL: there */
    const char *vocabulary;     /* the job's, if its data have one; NULL: none */
    backend_choice device;
    const weights *predict;     /* the model of these weights, without labels: only for
                                 * evaluation_predict; NULL: with labels and loss */
    evaluation_details details; /* what is counted beside the metrics */
    bool whole_length;          /* batches are as long as their fields say */
    const atomic_bool *stop;    /* ends a run between two nodes; NULL: never. Kept */
    bool (*is_over)(void *user); /* true ends a run between two batches; NULL: never */
    void *user;
} evaluation_options;

/* E_CONFIG, E_DATA as the data and the model have it; E_NOMEM if the host has not the memory left,
 * which names the batch that fits. After this, runs allocate nothing but what metrics keep. */
MUST_USE status evaluation_open(const evaluation_options *options, evaluation **ret, error *err);
void evaluation_close(evaluation **e);
/* Are these data read by what the training data have taught? */
bool evaluation_needs_vocabulary(const config *c);
int64_t evaluation_examples(const evaluation *e);
const dataset *evaluation_data(const evaluation *e);

/* E_DATA names the tensor that is missing or has another shape; tensors too many are ignored. */
MUST_USE status evaluation_load(evaluation *e, const weights *w, error *err);

/* "loss" (mean), "accuracy" and, for rows of tokens, "perplexity" over all examples, and the figures of
 * model.metrics, whatever the batches. E_LOST when *stop became true or the run was over. The caller frees the
 * figures (metric_figures_fini). */
MUST_USE status evaluation_run(evaluation *e, metric_set *ret, metric_figures *ret_figures, error *err);
/* The same in shares, as of processes that each open the evaluation alike: of so many, each counts its own,
 * which is every `shares`-th batch from `share` on; one of them merges what the others have saved, in any order,
 * and has the results of a single run, to the bit. E_LOST as above; E_DATA: the bytes are of another evaluation. */
MUST_USE status evaluation_count(evaluation *e, int64_t share, int64_t shares, error *err);
void evaluation_save(const evaluation *e, buf *to);
MUST_USE status evaluation_merge(evaluation *e, const char *bytes, size_t n, error *err);
void evaluation_results(const evaluation *e, metric_set *ret, metric_figures *ret_figures);

/* What options.details asked for, out of such figures (details_take); NULL: nothing. The caller decrefs it. */
json_t *evaluation_take_details(const evaluation *e, metric_figures *figures);

/* E_NONFINITE: the last run met scores that are not finite, so the figures of model.metrics are NaN. */
MUST_USE status evaluation_check(const evaluation *e, error *err);

typedef struct evaluation_array {
    const char *name; /* "logits" */
    dtype dtype;
    graph_shape shape; /* [examples, ...] */
    const void *data;  /* row-major */
} evaluation_array;

/* A batch, field by field, and what the model says to it: model_outputs. */
typedef struct evaluation_predictions {
    const dataset *data;        /* whose words classes have (dataset_label_word) */
    prediction says;                /* what the output of that name says */
    int64_t first, examples;        /* first: its number among the data's examples */
    size_t n_inputs, n_outputs;
    evaluation_array inputs[EVALUATION_INPUTS], outputs[EVALUATION_OUTPUTS];
} evaluation_predictions;

/* Gives every answer, in the order of the examples, to `take`. It ends with the first failure of
 * `take`, or after the batch in which *ret_enough became true. */
typedef status evaluation_taker(void *user, const evaluation_predictions *a, bool *ret_enough, error *err);
MUST_USE status evaluation_predict(evaluation *e, evaluation_taker *take, void *user, error *err);

#endif
