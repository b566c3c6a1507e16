/*
 * The second pass: what a walk has made is copied into the graph of the model, without what nobody
 * reads, and with patterns replaced by the operator that they spell out. Pure functions.
 */
#ifndef TEQUIO_ONNX_REWRITE_H
#define TEQUIO_ONNX_REWRITE_H

#include "graph/graph.h"

/* The last linear layer before a value, and how many features it is to have instead. */
typedef struct rewrite_head {
    graph_val weight, bias; /* parameters; GRAPH_NONE: none */
    int32_t axis;           /* of the weight: features of the output */
    int64_t features;
} rewrite_head;

/* E_UNSUPPORTED if `output` does not come from a linear layer through a few simple operators, or if
 * others read its weights too. */
MUST_USE status rewrite_find_head(const graph *g, graph_val output, int64_t features,
                                  rewrite_head *ret, error *err);

/*
 * Copies what `outputs` need of `from` into `to`. to_of[v] [values of `from`] must hold the value
 * of `to` that stands for an input of `from`, and GRAPH_NONE elsewhere; it is filled for all that
 * was copied. Parameters of kind TENSOR_STATE are copied in any case. The head's weight and bias
 * are declared anew.
 */
MUST_USE status rewrite_copy(const graph *from, const graph_val *outputs, size_t n_outputs,
                             const rewrite_head *head, graph *to, graph_val *to_of, error *err);

#endif
