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
#include "onnx/model.h"
#include "onnx/request.h"

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
