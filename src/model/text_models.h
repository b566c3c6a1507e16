/*
 * What AllenNLP's models of texts share (text_models.c): a table of words, and an encoder over their rows.
 * Threads and errors: as layers.h.
 */
#ifndef TEQUIO_MODEL_TEXT_MODELS_H
#define TEQUIO_MODEL_TEXT_MODELS_H

#include "model/sequences.h"

/* What a model's parts are called. */
typedef struct text_names {
    const char *table, *tokens, *text, *feedforward, *scores;
} text_names;

/* The end becomes the rows of a table for the field input_ids, with `dropout`, through the section `encoder`:
 * [batch * tokens, width]. */
MUST_USE status text_rows(net *n, const config *model, const text_names *names, double dropout, sequences *ret,
                          error *err);

#endif
