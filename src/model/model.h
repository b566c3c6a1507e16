/*
 * Built-in architectures: graph builders, configured in AllenNLP's manner by the section `model`.
 *
 * A built model has these inputs: the dataset's fields by their names, "batch.id" (int64 [1]) for
 * random masks and, in training, "slot.weight" (f32 [1]); and these kept values: "loss" (f32 [])
 * and "logits" ([batch, classes]). In training mode graph_backward has been done.
 * Parameters carry PyTorch's names ("conv1.weight", "fc1.bias", "bn1.running_mean").
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_MODEL_MODEL_H
#define TEQUIO_MODEL_MODEL_H

#include "common/config/config.h"
#include "data/data.h"
#include "graph/graph.h"

typedef enum model_mode { MODEL_TRAIN, MODEL_EVAL } model_mode;

typedef struct model_request {
    const config *model;            /* the section `model` */
    const data_field *fields;
    size_t n_fields;
    int64_t batch_size;
    uint64_t seed;
    model_mode mode;
} model_request;

/* An error names the layer and both shapes (E_CONFIG) or the unknown type (E_CONFIG, with the
 * nearest known one). */
MUST_USE status model_build(const model_request *request, graph **ret, error *err);

/* What a model says to a batch: names of the kept values whose first axis is the batch's, in the
 * order of the graph, at most `most`. Returns how many; names are the graph's. */
size_t model_outputs(const graph *g, int64_t batch_size, const char **ret, size_t most);

/* The flat vector of a training graph: its parameters in graph_param_order. */
MUST_USE status model_flat(const graph *g, flat **ret, error *err);

#endif
