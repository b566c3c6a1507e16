/*
 * The shapes that the batches of an evaluation have, each of which wants a graph of its own.
 *
 * Where training pads to prepared lengths (data_loader.batch_sampler) so do evaluation and prediction, to multiples of
 * 32 at least, unless that would show: where a label stands at every token, filled-up ones too, or a span may be at
 * what is filled up, where predictions are of tokens but not of words, and where the caller wants what the model is
 * given. Then, and without a sampler, batches are as long as their fields say.
 *
 * Threads: immutable once chosen.
 */
#ifndef TEQUIO_EVALUATOR_EVALUATION_SHAPES_H
#define TEQUIO_EVALUATOR_EVALUATION_SHAPES_H

#include "common/config/config.h"
#include "data/batch_lengths.h"
#include "model/model.h"

enum { EVALUATION_SHAPES = BATCH_LENGTHS_SHAPES };

typedef struct evaluation_shapes {
    batch_lengths *lengths;     /* NULL: all are as long as their fields say */
    batch_shape at[EVALUATION_SHAPES]; /* [0] is the largest */
    size_t n;
} evaluation_shapes;

/* `request`: of the whole length. */
MUST_USE status evaluation_shapes_choose(const config *c, const dataset *d, const model_request *request, bool whole,
                                         evaluation_shapes *ret, error *err);
void evaluation_shapes_fini(evaluation_shapes *s);
size_t evaluation_shapes_find(const evaluation_shapes *s, batch_shape shape);

#endif
