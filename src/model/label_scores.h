/*
 * What a model's scores say of the labels of a batch, as metrics take it: by the model's loss, and in rows as long as
 * those of the longest batch. In training the scores are copies of the outputs (model_request.keep_scores).
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_MODEL_LABEL_SCORES_H
#define TEQUIO_MODEL_LABEL_SCORES_H

#include "data/data.h"
#include "metric/metrics.h"
#include "model/prediction.h"

typedef struct label_scores label_scores;

enum { LABEL_SCORES_OUTPUTS = 2 };

/* Of a graph that model_build made by the request, with labels, for the longest batches; `asked_by` begins messages.
 * E_CONFIG if the loss compares no scores with one field of labels that metrics can be of. */
MUST_USE status label_scores_open(const dataset *d, const model_request *request, const graph *g, const char *asked_by,
                                  label_scores **ret, error *err);
void label_scores_close(label_scores **s);

/* What all batches have in common. Borrowed. */
const metric_source *label_scores_source(const label_scores *s);

/* The scores are read after each batch, so they stay in `g`, a graph for batches of any length. E_CONFIG. */
MUST_USE status label_scores_keep(const label_scores *s, graph *g, error *err);

/* The names of the values to read, LABEL_SCORES_OUTPUTS at most; NULL: no more. And which fields are. */
const char *label_scores_output(const label_scores *s, size_t i);
bool label_scores_reads(const label_scores *s, const char *field);

typedef struct label_scores_value {
    const graph_value *value;
    const float *data;
} label_scores_value;

/* A batch with the values of those names. It borrows from all of these, and until the next call. */
void label_scores_take(label_scores *s, const data_batch *batch, const label_scores_value *outputs, metric_batch *ret);

#endif
