/* What an import is asked for (import.h). Plain data. */
#ifndef TEQUIO_ONNX_REQUEST_H
#define TEQUIO_ONNX_REQUEST_H

#include "graph/graph.h"
#include "onnx/host.h"

typedef enum onnx_mode {
    ONNX_TRAIN, /* Dropout drops, BatchNormalization uses the batch and moves its statistics */
    ONNX_EVAL,  /* neither */
    ONNX_AS_IS, /* as each node says: for conformance */
} onnx_mode;

/* What an input is bound to: a value of the graph to build into, or a host tensor, whose values are
 * then constants. */
typedef struct onnx_binding {
    const char *input;
    graph_val value;         /* GRAPH_NONE: */
    const host_tensor *host;
} onnx_binding;

typedef struct onnx_dim {
    const char *param;
    int64_t size;
} onnx_dim;

typedef struct onnx_request {
    onnx_mode mode;
    const onnx_binding *inputs; /* all that the wanted outputs need */
    size_t n_inputs;
    const onnx_dim *dims;       /* what symbols of the inputs' shapes must be */
    size_t n_dims;
    const char *const *outputs; /* those wanted; none: all */
    size_t n_outputs;
    uint64_t seed;              /* of dropout masks */
    graph_val batch_id;         /* their other key: int64 [1]. GRAPH_NONE: no dropout */
    const char *const *train;   /* globs of weights that move, whatever the file says */
    size_t n_train;
    bool keep_tied;             /* an Identity of a weight is that weight */
    int64_t head_features;      /* not 0: the last linear layer before the first output becomes a
                                 * new one with so many, drawn as PyTorch draws it */
} onnx_request;

#endif
