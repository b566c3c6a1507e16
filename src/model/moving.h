/*
 * What of a model moves when it is trained, what does not, and why: for people, who may know better.
 * Of an ONNX file that is partly a guess (onnx/moves.h).
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_MOVING_H
#define TEQUIO_MODEL_MOVING_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "graph/graph.h"

enum { MOVING_ROWS = 24, MOVING_NAMES = 12 };

/* Tensors that have their reason in common. */
typedef struct moving_row {
    const char *what; /* "moves", "state", "stays", "constant" */
    const char *why;
    bool is_guess;
    size_t n_tensors;
    int64_t n_elements;
    char *names[MOVING_NAMES]; /* of guesses, the first ones */
    size_t n_names;
} moving_row;

typedef struct moving {
    moving_row rows[MOVING_ROWS];
    size_t n;
} moving;

/* Of a whole configuration, and the graph that was built for training by it. */
MUST_USE status moving_of(const config *job, const graph *g, moving *ret, error *err);
void moving_fini(moving *m);

/* "2 tensors of 17 elements, scalars that a Mul, Div or Exp reads: a, b" */
void moving_row_text(const moving_row *row, buf *ret);

/* What was guessed and who decides, for a warning; NULL if nothing was. Free it. */
char *moving_guesses(const config *job, const moving *m);

#endif
