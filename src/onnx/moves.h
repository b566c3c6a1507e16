/*
 * What of a file moves when it is trained: which of its float32 initializers are parameters.
 *
 * ONNX does not say. A file may, in its metadata_props, and then nothing is guessed:
 *
 *   tequio.parameters   a JSON object of names to requires_grad: {"fc.weight": true, ...}
 *   tequio.buffers      a JSON array of names
 *
 * They list all there are: a name beyond them is a constant's, unless an exporter made it up, as it does
 * of weights that it has changed. Of those, and of all where nothing is listed: PyTorch's newer exporter notes
 * what an initializer was, but not requires_grad; otherwise the name and the nodes that read it have to tell,
 * which is a guess but for names that PyTorch's modules give to weights only. `train` overrides all
 * of it, for a caller that knows better.
 *
 * Threads: pure functions.
 */
#ifndef TEQUIO_ONNX_MOVES_H
#define TEQUIO_ONNX_MOVES_H

#include "onnx/model.h"

#include <stdbool.h>

typedef struct onnx_move {
    bool is_weight;  /* a tensor of the flat vector; otherwise a constant of the graph */
    bool moves;
    bool is_guess;
    const char *why; /* of some such initializers, for people: "called weight or bias" */
} onnx_move;

typedef struct onnx_moves onnx_moves;

/* `train`: globs of names that move. The model must outlive it. E_DATA for metadata that are no such
 * JSON, contradict themselves or are of another model. */
MUST_USE status onnx_moves_create(const onnx_model *m, const char *const *train, size_t n_train,
                                  onnx_moves **ret, error *err);
void onnx_moves_destroy(onnx_moves **r);

/* Of a float32 tensor of the file, under its own name or that of an Identity. */
onnx_move onnx_moves_of(const onnx_moves *r, const char *name, const Onnx__TensorProto *t);

/* Whether a name that an Identity gives to an initializer can be one of a weight: exporters merge
 * weights that are equal, and so give each its name back. Otherwise it is the same weight. */
bool onnx_moves_names(const onnx_moves *r, const char *name);

#endif
