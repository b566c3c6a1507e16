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

#endif
