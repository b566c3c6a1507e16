/*
 * Metrics of training: a slot counts them over its batch, a report carries the counts, and the master adds them up
 * over an epoch. Each batch counts once, as its report does, and the sums are exact, so figures do not depend on who
 * computed what, nor on what was computed twice.
 *
 * A *recipe* is all that the two sides have in common: which metrics, with their options, and of what. The worker makes
 * it of the configuration, the model and the data, and declares it; the master knows neither of the latter. Counts name
 * the recipe they were made by, so those of another list, as of a job that was resumed with one, are told apart.
 *
 * Left out is what does not stay small: metrics that keep every score (auc, spearman_correlation, ..., squad), those of
 * the texts of answers, which AllenNLP does not count in training either, and what of a list would take more than
 * TRAINING_METRICS_ROOM counts, so that a report stays a small message.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_METRIC_TRAINING_METRICS_H
#define TEQUIO_METRIC_TRAINING_METRICS_H

#include "metric/metrics.h"

enum { TRAINING_METRICS_ROOM = 1 << 16, TRAINING_METRICS_CLASSES = 1 << 24 };

/* The recipe of those of `options` that can be counted, empty if none can; `ret_left` gets the names of the others,
 * "squad, auc". Fails as metrics_open. */
MUST_USE status training_recipe_make(const metric_options *options, size_t n, const metric_source *source,
                                     buf *ret_recipe, buf *ret_left, error *err);

typedef struct training_metrics training_metrics;

/* Nothing is counted yet. E_PROTOCOL: it is no recipe. E_CONFIG, E_NOMEM as metrics_open. */
MUST_USE status training_metrics_open(const void *recipe, size_t bytes, training_metrics **ret, error *err);
void training_metrics_close(training_metrics **m);

/* Counts a batch, that of one slot, and appends what it counts to `to`; what was counted before is forgotten. As
 * metrics_add. */
MUST_USE status training_metrics_count(training_metrics *m, const metric_batch *batch, buf *to, error *err);

/* Adds what was appended there; false: it is damaged or of another recipe, and then nothing of `m` may be told. */
bool training_metrics_add(training_metrics *m, const void *counts, size_t bytes);
/* Appends all that was added, for training_metrics_add. */
void training_metrics_save(const training_metrics *m, buf *to);
/* Back to nothing. */
void training_metrics_reset(training_metrics *m);
/* Of so many slots. */
int64_t training_metrics_slots(const training_metrics *m);
void training_metrics_figures(training_metrics *m, metric_figures *ret);

#endif
