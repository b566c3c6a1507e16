/*
 * Export: a model as an ONNX file that other programs run. https://onnx.ai/onnx/repo-docs/IR.html
 *
 * A graph of ours is written as nodes of opset 17; what that has no operator for is written out in
 * smaller ones. Initializers have the names and
 * shapes of the weights. Sizes that follow the batch are left open.
 *
 * Errors: E_UNSUPPORTED lists every node that ONNX cannot say, and names a size that cannot be left
 * open; E_DATA names a weight that is missing. The file is there once it is whole.
 * Threads: pure functions.
 */
#ifndef TEQUIO_ONNX_EXPORT_H
#define TEQUIO_ONNX_EXPORT_H

#include "common/store/weights.h"
#include "graph/graph.h"
#include "onnx/model.h"

/* An entry of the file's metadata. */
typedef struct onnx_meta {
    const char *key, *value;
} onnx_meta;

typedef struct onnx_export {
    const graph *g;             /* without backward; evaluation mode */
    const graph *twin;          /* the same model for another batch size; NULL: sizes stay fixed */
    int64_t batch, twin_batch;
    const char *const *outputs; /* names of values; what none of them needs is left out */
    size_t n_outputs;
    const weights *weights;     /* every parameter that is needed, by name */
    const onnx_meta *meta;
    size_t n_meta;
} onnx_export;

MUST_USE status onnx_export_graph(const onnx_export *request, const char *path, error *err);

/* A model that came as a file: its graph stays, its weights are replaced. E_DATA if `w` has tensors
 * without a place in it. */
MUST_USE status onnx_export_model(const onnx_model *m, const weights *w, const onnx_meta *meta,
                                  size_t n_meta, const char *path, error *err);

#endif
