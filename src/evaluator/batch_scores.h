/*
 * What the means of an evaluation are made of, batch by batch: whoever ran the batches, they are added in the
 * order of batches, so that the sums have the same bits.
 * Threads: one at a time.
 */
#ifndef TEQUIO_EVALUATOR_BATCH_SCORES_H
#define TEQUIO_EVALUATOR_BATCH_SCORES_H

#include "common/base/buf.h"
#include "metric/metric.h"

#include <stdbool.h>

typedef struct batch_score {
    double loss, examples;
    int64_t right, counted; /* -1: the model's labels are no classes */
    int64_t is_there;       /* 1 once the batch was run */
} batch_score;

typedef struct batch_scores {
    batch_score *at; /* by the batch's number */
    int64_t n;
} batch_scores;

void batch_scores_init(batch_scores *s, int64_t batches);
void batch_scores_fini(batch_scores *s);
void batch_scores_clear(batch_scores *s);

/* "loss", "accuracy" where labels are classes, "perplexity" if wanted. All batches are there. */
metric_set batch_scores_add_up(const batch_scores *s, bool with_perplexity);

/* As bytes for another process, which takes what it lacks. E_DATA: they are of another number of batches. */
void batch_scores_save(const batch_scores *s, buf *to);
MUST_USE status batch_scores_take(batch_scores *s, const char **from, size_t *bytes, error *err);

#endif
