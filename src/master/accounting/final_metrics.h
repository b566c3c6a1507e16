/* What metrics.json says at the end, beside the last epoch's metrics. Threads: pure. */
#ifndef TEQUIO_MASTER_ACCOUNTING_FINAL_METRICS_H
#define TEQUIO_MASTER_ACCOUNTING_FINAL_METRICS_H

#include "common/base/json.h"
#include "metric/metric.h"
#include "metric/metrics.h"

/* training_duration_s, and training_duration as AllenNLP has it: "0:01:05.250000". */
void final_metrics_put_duration(json_t *into, double seconds);

/* "training_loss", .. of the means and figures of an epoch; `figures` may be NULL. */
void final_metrics_put_training(json_t *into, const metric_set *means, const metric_figures *figures);

/* "validation_loss", .. of all that an evaluation's file tells of the weights. */
void final_metrics_put_validation(json_t *into, const json_t *evaluation);

/* All that the best epoch's evaluation found, as best_validation_*; `best` is that epoch's metrics, or NULL. */
void final_metrics_put_best(json_t *into, const json_t *best);

#endif
