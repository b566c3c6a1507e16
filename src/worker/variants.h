/*
 * What a worker trains: the data, and the model built for every shape of a batch that occurs (the full
 * batch, the epoch's smaller last one, and the lengths that batches are padded to), over one flat vector.
 * Threads: immutable once built, but for `buckets`, which have their own rule.
 */
#ifndef TEQUIO_WORKER_VARIANTS_H
#define TEQUIO_WORKER_VARIANTS_H

#include "common/base/buf.h"
#include "common/config/config.h"
#include "data/bucketing.h"
#include "graph/graph.h"
#include "model/trainable.h"

typedef struct label_scores label_scores;       /* model/label_scores.h */

typedef struct variants {
    dataset *data;
    bucketing *buckets;                     /* NULL: batches are all of one length */
    flat *flat;
    size_t n;
    graph *graphs[BATCH_SHAPES];
    batch_shape shapes[BATCH_SHAPES];       /* [0] is a full batch, of the longest */
    bool keeps_scores;                      /* graphs have copies of their scores */
    buf recipe;                             /* of the metrics of training; empty: none are counted */
    buf uncounted;                          /* those that are listed and that only evaluations count, and why; empty */
    buf teacher;                            /* where the weights of model.distillation's come from; empty: no teacher */
} variants;

MUST_USE status variants_build(const config *config, variants *ret, error *err);
void variants_fini(variants *v);
/* Says in the log what of a configuration is probably not meant. */
void variants_warn(const config *config, const variants *v);
/* What moves and what does not, with a warning of what was guessed. trainable_fini(). */
MUST_USE status variants_moving(const config *config, const variants *v, trainable *ret, error *err);

/* The model for batches of another shape. */
MUST_USE status variants_graph(const config *config, const variants *v, batch_shape shape, graph **ret, error *err);
/* What the scores of its batches say of labels, where there is a recipe. */
MUST_USE status variants_scores(const config *config, const variants *v, label_scores **ret, error *err);
/* Of its batches, where they are of several sizes. */
steps_kinds variants_kinds(const variants *v);
/* How a lane reads the data, with so many threads ahead of it. */
loader_options variants_loader(const config *config, const variants *v, int n_readers);

#endif
