/*
 * What a model answers to a question, as one line of JSON with the keys of AllenNLP's predictor transformer_qa. Of a
 * text in several windows the line is that of the window with the best answer.
 * Threads: one at a time.
 */
#ifndef TEQUIO_CLI_USE_ANSWER_LINE_H
#define TEQUIO_CLI_USE_ANSWER_LINE_H

#include "evaluator/evaluation.h"

/* The windows of a question until the next question comes; a zeroed one has none. */
typedef struct answer_lines {
    buf best;                       /* the line; "": there is none */
    int64_t question;
    float score;
} answer_lines;

/* Do the answers of these data make such lines? */
bool answer_lines_fit(const evaluation_predictions *a);
/* Takes example i of the batch; appends to `to` the line of the question before, if this is the next one's. E_DATA. */
MUST_USE status answer_lines_take(answer_lines *l, const evaluation_predictions *a, int64_t i, bool with_inputs,
                                  buf *to, error *err);
/* Appends the line that is left, if there is one. */
void answer_lines_end(answer_lines *l, buf *to);
void answer_lines_fini(answer_lines *l);

#endif
