/*
 * Answers: what the numbers of a model's first output say about an example. The loss that it was
 * trained with decides that, and by it the output has its name.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_ANSWER_H
#define TEQUIO_MODEL_ANSWER_H

#include "model/model.h"

typedef enum answer_kind {
    ANSWER_NUMBERS, /* "prediction"; or "logits" of a model that makes its loss itself, which alone
                     * knows what they say */
    ANSWER_CLASSES, /* "logits", scores of classes along `axis`: softmax makes them probabilities */
    ANSWER_ODDS,    /* "logits", each the logarithm of the odds of a yes: sigmoid makes it one */
    ANSWER_CHANCES, /* "probability", each that of a yes, as a Sigmoid at the end gives it */
    ANSWER_SPAN,    /* "logits", scores of first and last position: [batch, positions, 2], or this
                     * output [batch, positions] for the first, and the next one for the last */
} answer_kind;

typedef struct answer {
    answer_kind kind;
    const char *name; /* of the output; static */
    int32_t axis;     /* of ANSWER_CLASSES */
} answer;

/* How output `scores` of a network with that `loss` is to be called. */
const char *answer_name(const graph *g, graph_val scores, const char *loss);

/* Of a graph that model_build made by the request, not for training. E_CONFIG. */
MUST_USE status answer_of(const model_request *request, const graph *g, answer *ret, error *err);

#endif
