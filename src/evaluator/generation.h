/*
 * Generation: a trained language model goes on with a text, token by token. Each next token is
 * drawn from the scores that the model gives behind the last one; what no longer fits into its
 * context is forgotten at the front.
 *
 * The text is a pure function of (weights, options, threads). Temperature and top_k are as GPT-2's
 * samples take them.
 * Threads: a generation belongs to the thread that opened it.
 */
#ifndef TEQUIO_EVALUATOR_GENERATION_H
#define TEQUIO_EVALUATOR_GENERATION_H

#include "backend/registry.h"
#include "common/base/buf.h"
#include "common/config/config.h"
#include "common/store/weights.h"

typedef struct generation generation;

typedef struct generation_options {
    const config *config;       /* of the job */
    const char *vocabulary;     /* of the job; NULL: it has none */
    const weights *weights;
    backend_choice device;
    double temperature;         /* scores are divided by it; 0: the best token is taken */
    int64_t top_k;              /* of the best so many tokens; 0: of all */
    uint64_t seed;
} generation_options;

/* E_CONFIG if the job's data are no text, or the model gives no scores for each token; E_DATA as
 * the weights, the tokenizer and the vocabulary have it. */
MUST_USE status generation_open(const generation_options *options, generation **ret, error *err);
void generation_close(generation **g);

/* Appends text to what the model reads. E_DATA names a character that it does not know. */
MUST_USE status generation_prompt(generation *g, const char *text, error *err);

/* Draws the next token, which the model then reads too, and appends its text to `ret`: nothing while a character is
 * incomplete. *ret_ended: it is end_of_text, and nothing comes of it. There must have been a prompt. */
MUST_USE status generation_next(generation *g, buf *ret, bool *ret_ended, error *err);
/* Appends what is left of a character that breaks off. */
MUST_USE status generation_end(generation *g, buf *ret, error *err);

#endif
