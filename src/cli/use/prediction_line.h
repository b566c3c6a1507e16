/*
 * What a model says to one example, as a line of JSON in the manner of AllenNLP's predictors: the
 * example's number, what follows from the scores by the loss the model was trained with, and every
 * output by its name.
 *
 *   classes            "label", and where an example has one row of scores "probs", by softmax
 *                      a row of words: "words" and "tags", one each, instead
 *   yes or no          one: "label", and "probs" of no and yes, by sigmoid; several: "label" and
 *                      "probs" have the shape of the output, 1 is yes
 *   a span             "best_span": the first and the last position, in this order, with the
 *                      largest sum of scores
 *   numbers            nothing: the output "prediction" is what they are
 *
 * Questions about texts have lines of their own (answer_line.h).
 *
 * A label is a word where the training data had words for classes, otherwise its number.
 * Threads: any.
 */
#ifndef TEQUIO_CLI_USE_PREDICTION_LINE_H
#define TEQUIO_CLI_USE_PREDICTION_LINE_H

#include "common/base/buf.h"
#include "evaluator/evaluation.h"

typedef struct prediction_form {
    bool with_inputs;
    double temperature; /* by which logits are divided before they become probabilities; 0: they are not */
} prediction_form;

/* Appends the line of example `example` of the batch, which is called `number`. */
void prediction_line(const evaluation_predictions *a, int64_t example, int64_t number, const prediction_form *form,
                     buf *to);

/* Are there probabilities in the lines that a temperature changes? */
bool prediction_line_has_temperature(const evaluation_predictions *a);

/* What lines are made of: a number, null if it is not finite; `, "inputs": {...}`, the fields. */
void prediction_line_number(buf *b, double x);
void prediction_line_inputs(const evaluation_predictions *a, int64_t example, buf *b);

#endif
