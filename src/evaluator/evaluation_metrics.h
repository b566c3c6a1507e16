/*
 * The metrics that a configuration lists (model.metrics, trainer.metrics) and the details that are asked for, over
 * the scores and labels of an evaluation: what they are by the model's loss, and where they lie in a batch.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_EVALUATOR_EVALUATION_METRICS_H
#define TEQUIO_EVALUATOR_EVALUATION_METRICS_H

#include "data/data.h"
#include "evaluator/details.h"
#include "exec/exec.h"
#include "metric/metrics.h"
#include "model/model.h"

typedef struct evaluation_metrics evaluation_metrics;

/* *ret is NULL if `c` lists none and no details are asked for. Of a graph that model_build made by the request, with
 * labels. E_CONFIG as metrics_open has it, and if the model's loss compares no scores with one field of labels. */
MUST_USE status evaluation_metrics_open(const config *c, const dataset *d, const model_request *request,
                                        const graph *g, const evaluation_details *details,
                                        evaluation_metrics **ret, error *err);
void evaluation_metrics_close(evaluation_metrics **m);

/* The scores are read after each batch, so they stay in `g`. */
MUST_USE status evaluation_metrics_keep(const evaluation_metrics *m, graph *g, error *err);

/* Counts the batch over which graph `variant` ran. E_DATA, E_NOMEM. */
MUST_USE status evaluation_metrics_add(evaluation_metrics *m, exec *e, size_t variant, const data_batch *batch,
                                       error *err);

/* What another process has saved of metrics opened alike (metrics_save). E_DATA, E_NOMEM. */
MUST_USE status evaluation_metrics_merge(evaluation_metrics *m, const char *bytes, size_t n, error *err);

metric_list *evaluation_metrics_list(const evaluation_metrics *m);

/* details_take of those that were asked for at opening; NULL: none were. */
json_t *evaluation_metrics_details(const evaluation_metrics *m, metric_figures *figures);

#endif
