/*
 * What of a model is trained, what is not, and why: for people, who may know better.
 * Of an ONNX file that is partly a guess (onnx/moves.h).
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_TRAINABLE_H
#define TEQUIO_MODEL_TRAINABLE_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "graph/graph.h"

enum { TRAINABLE_ROWS = 24, TRAINABLE_NAMES = 12 };

/* Tensors that have their reason in common. */
typedef struct trainable_row {
    const char *what; /* "moves", "state", "stays", "constant" */
    const char *why;
    bool is_guess;
    size_t n_tensors;
    int64_t n_elements;
    char *names[TRAINABLE_NAMES]; /* of guesses, the first ones */
    size_t n_names;
} trainable_row;

typedef struct trainable {
    trainable_row rows[TRAINABLE_ROWS];
    size_t n;
} trainable;

/* Of a whole configuration, and the graph that was built for training by it. */
MUST_USE status trainable_of(const config *job, const graph *g, trainable *ret, error *err);
void trainable_fini(trainable *m);

/* "2 tensors of 17 elements, scalars that a Mul, Div or Exp reads: a, b" */
void trainable_row_text(const trainable_row *row, buf *ret);

/* What was guessed and who decides, for a warning; NULL if nothing was. Free it. */
char *trainable_guesses(const config *job, const trainable *m);

#endif
