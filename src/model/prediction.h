/*
 * Answers: what the numbers of a model's first output say about an example. The loss that it was
 * trained with decides that, and by it the output has its name.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_PREDICTION_H
#define TEQUIO_MODEL_PREDICTION_H

#include "model/model.h"

typedef enum prediction_kind {
    PREDICTION_NUMBERS, /* "prediction"; or "logits" of a model that makes its loss itself, which alone
                     * knows what they say */
    PREDICTION_CLASSES, /* "logits", scores of classes along `axis`: softmax makes them probabilities */
    PREDICTION_ODDS,    /* "logits", each the logarithm of the odds of a yes: sigmoid makes it one */
    PREDICTION_CHANCES, /* "probability", each that of a yes, as a Sigmoid at the end gives it */
    PREDICTION_SPAN,    /* "logits", scores of first and last position: [batch, positions, 2], or this
                     * output [batch, positions] for the first, and the next one for the last */
    PREDICTION_ARCS, /* "logits", scores of every word's head, and "tag_logits" of its tag (loss.h) */
} prediction_kind;

typedef struct prediction {
    prediction_kind kind;
    const char *name; /* of the output; static */
    int32_t axis;     /* of PREDICTION_CLASSES */
    const char *tags; /* of PREDICTION_ARCS: the output with scores of tags; static */
} prediction;

/* How output `scores` of a network with that `loss` is to be called. */
const char *prediction_name(const graph *g, graph_val scores, const char *loss);

/* ... and the one behind it; NULL: as the network calls it. */
const char *prediction_second_name(const char *loss);

/* What copies of the first output and, of PREDICTION_ARCS, of the second are called in training, where they are kept
 * (model_request.keep_scores). */
#define PREDICTION_COPY "training.scores"
#define PREDICTION_TAGS_COPY "training.tag_scores"

/* Of a graph that model_build made by the request; of one for training only if it keeps copies of its scores.
 * E_CONFIG. */
MUST_USE status prediction_of(const model_request *request, const graph *g, prediction *ret, error *err);

#endif
