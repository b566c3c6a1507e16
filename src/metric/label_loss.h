/*
 * What a label costs under the scores of a model: -log of its probability, or a squared distance. Label smoothing,
 * weights and focal losses are training's; they are not in it.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_METRIC_LABEL_LOSS_H
#define TEQUIO_METRIC_LABEL_LOSS_H

#include "metric/metrics.h"

/* Of scores of classes: the highest, and the sum of e to the others less it. */
typedef struct metric_softmax {
    double top, sum;
} metric_softmax;

metric_softmax metric_softmax_of(const metric_source *s, const metric_batch *b, int64_t i);

/* Of METRIC_CLASSES, METRIC_YES_NO and METRIC_NUMBERS; `i` is a label that counts. Infinite where the label is
 * impossible; probabilities of a yes cost 100 at most, as in PyTorch. */
double metric_label_loss(const metric_source *s, const metric_batch *b, int64_t i);

#endif
