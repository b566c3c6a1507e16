/*
 * Import: an ONNX model becomes nodes of a graph (graph.h), for one batch size.
 *
 * Shapes are static there, so the import knows the shape of every value, and evaluates what depends
 * on constants and shapes alone: only what works on data becomes nodes. Model-local functions are
 * inlined, an If goes the way its known condition says (branch.h), loops are unrolled (loop.h),
 * sequences are lists of values (sequence.h), dead nodes are left out, patterns that have an operator
 * of their own are fused (rewrite.h). Operators: https://onnx.ai/onnx/operators/,
 * opsets ONNX_OPSET_MIN to ONNX_OPSET_MAX of the domain ai.onnx.
 *
 * Weights are float initializers: a tensor of the flat vector each, under its name. An Identity of
 * one that gives it another weight's name is a weight of its own (exporters merge weights that were
 * equal by chance), an initializer that several nodes read is one weight (tied). Running statistics
 * of BatchNormalization are state, one of all calls of a layer. Which others move says moves.h.
 *
 * Errors: E_UNSUPPORTED lists every node that cannot be carried out, with its operator, at once;
 * E_DATA is a damaged model; E_CONFIG does not fit what was asked. Each names the node.
 *
 * Ownership: an imported model copies nothing of the file, which must outlive it.
 * Threads: pure functions; one graph belongs to one thread while it grows.
 */
#ifndef TEQUIO_ONNX_IMPORT_H
#define TEQUIO_ONNX_IMPORT_H

#include "graph/graph.h"
#include "onnx/host.h"
#include "onnx/model.h"

enum { ONNX_OPSET_MIN = 1, ONNX_OPSET_MAX = 28 };

typedef enum onnx_mode {
    ONNX_TRAIN, /* Dropout drops, BatchNormalization uses the batch and moves its statistics */
    ONNX_EVAL,  /* neither */
    ONNX_AS_IS, /* as each node says: for conformance */
} onnx_mode;

/* An input or output as the file describes it. */
typedef struct onnx_io {
    const char *name;
    bool has_type, has_shape; /* otherwise the file does not say */
    dtype dtype;              /* of what feeds it: float64 by float32, narrow integers by wider ones */
    int32_t element;          /* ONNX's type, where one is said */
    int32_t rank;
    int64_t dim[GRAPH_RANK];        /* -1: symbolic or unknown */
    const char *param[GRAPH_RANK];  /* the symbol, NULL if none */
} onnx_io;

/* What the model is fed: inputs that are no initializers, in the file's order; and what it gives.
 * E_UNSUPPORTED for what is no tensor of a type that we have. */
size_t onnx_n_inputs(const onnx_model *m);
size_t onnx_n_outputs(const onnx_model *m);
MUST_USE status onnx_input(const onnx_model *m, size_t i, onnx_io *ret, error *err);
MUST_USE status onnx_output(const onnx_model *m, size_t i, onnx_io *ret, error *err);

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

/* A value of the model: a value of the graph, or known now. */
typedef struct onnx_result {
    const char *name;
    graph_val value;         /* GRAPH_NONE: */
    const host_tensor *host;
    int32_t element;         /* ONNX's type of it, which a wider one may hold here */
} onnx_result;

/* A weight of the flat vector and the initializer it starts as. */
typedef struct onnx_weight {
    const char *name;
    int32_t initializer;
} onnx_weight;

typedef struct onnx_imported {
    arena *memory;
    onnx_result *outputs;
    size_t n_outputs;
    onnx_weight *weights; /* those that live nodes read, and running statistics */
    size_t n_weights;
} onnx_imported;

/* Appends the model to `g`. Names of values there: outputs of nodes and initializers, as in the
 * file. On failure `g` may hold some of it and must be thrown away. */
MUST_USE status onnx_import(const onnx_model *m, graph *g, const onnx_request *request,
                            onnx_imported *ret, error *err);
void onnx_imported_fini(onnx_imported *i);

/* The weight that a tensor of the flat vector is; false if the file has none of that name. */
bool onnx_weight_find(const onnx_model *m, const char *name, onnx_weight *ret);

/* The weight's values into `out` [n]. E_DATA where they are not finite. */
MUST_USE status onnx_weight_read(const onnx_model *m, const onnx_weight *w, float *out, int64_t n,
                                 error *err);

#endif
