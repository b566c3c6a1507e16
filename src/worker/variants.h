/*
 * What a worker trains: the data, and the model built for every batch size that occurs (the full
 * batch, and the epoch's smaller last one), over one flat vector.
 * Threads: immutable once built.
 */
#ifndef TEQUIO_WORKER_VARIANTS_H
#define TEQUIO_WORKER_VARIANTS_H

#include "common/config/config.h"
#include "data/data.h"
#include "graph/graph.h"
#include "model/trainable.h"

enum { VARIANTS_MAX = 2 };

typedef struct variants {
    dataset *data;
    flat *flat;
    size_t n;
    graph *graphs[VARIANTS_MAX];
    int64_t batch_sizes[VARIANTS_MAX];      /* [0] is the full one */
} variants;

MUST_USE status variants_build(const config *config, variants *ret, error *err);
void variants_fini(variants *v);
/* Says in the log what of a configuration is probably not meant. */
void variants_warn(const config *config, const variants *v);
/* What moves and what does not, with a warning of what was guessed. trainable_fini(). */
MUST_USE status variants_moving(const config *config, const variants *v, trainable *ret, error *err);

/* The model for batches of another size. */
MUST_USE status variants_graph(const config *config, const variants *v, int64_t batch_size,
                               graph **ret, error *err);
/* How a lane reads the data. */
loader_options variants_loader(const config *config, const variants *v);

#endif
