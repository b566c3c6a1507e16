/*
 * Two models for whole steps: what real ones are made of, small enough for central differences.
 * Inputs: x, labels, batch (the id), weight (with backward). Kept: loss, and per batch norm
 * <name>.1 and <name>.2, its batch statistics.
 */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_MODELS_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_MODELS_H

#include "graph/graph.h"
#include "numeric/support_lane.h"
#include "numeric/support_reference.h"

typedef struct model_size {
    bool images;            /* convolutions; otherwise rows */
    int64_t channels, side; /* of the images; rows have channels * side * side elements */
    int64_t maps, hidden, classes;
    bool frozen; /* the second layer's weights never move */
} model_size;

/* What central differences can walk through, and what fills several parts. */
extern const model_size small_cnn, small_mlp, large_cnn, large_mlp;

graph *model_build(const model_size *size, int64_t batch, bool backward);

/* Version 0 of every parameter, the same wherever the name is. */
void model_fill_params(const graph *g, lane *l, reference *r);

/* Inputs of batch `id`; weight is what the slot counts for. Either of l and r may be NULL. */
void model_fill_batch(const graph *g, uint64_t id, double weight, lane *l, size_t variant,
                      reference *r);

#endif
