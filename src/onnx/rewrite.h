/*
 * The second pass: what a walk has made is copied into the graph of the model, without what nobody
 * reads, and with patterns replaced by the operator that they spell out.
 */
#ifndef TEQUIO_ONNX_REWRITE_H
#define TEQUIO_ONNX_REWRITE_H

#include "graph/graph.h"

/*
 * Copies what `outputs` need of `from` into `to`. to_of[v] [values of `from`] must hold the value of
 * `to` that stands for an input of `from`, and GRAPH_NONE elsewhere; it is filled for all that was
 * copied. Parameters of kind TENSOR_STATE are copied in any case.
 */
MUST_USE status rewrite_copy(const graph *from, const graph_val *outputs, size_t n_outputs,
                             graph *to, graph_val *to_of, error *err);

#endif
