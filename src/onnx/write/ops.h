/*
 * How each operator of a graph is said in ONNX. One without a row is said by its own name, with the
 * fields of its attributes (graph/schema.h), where that opset of ONNX has it so. Functions append to
 * a maker; files are sorted by families.
 * Threads: pure functions.
 */
#ifndef TEQUIO_ONNX_WRITE_OPS_H
#define TEQUIO_ONNX_WRITE_OPS_H

#include "onnx/write/maker.h"

enum { WRITE_OPSET = 17 };

typedef status write_fn(maker *m, const graph_node *n, error *err);

/* NULL: ONNX cannot say it. */
write_fn *write_of(const graph_node *n);
/* So many of its outputs are written, from the first on. */
int32_t write_outputs(const graph_node *n);

#define WRITE(ID, function) write_fn function;
#include "onnx/write/ops.def"
#undef WRITE

/* A node of the operator's own name, with its inputs and its first `n_out` outputs. */
Onnx__NodeProto *write_same(maker *m, const graph_node *n, int32_t n_out);

/* The attributes that ONNX's operator has, by the fields of the graph's. */
void write_fields(maker *m, const graph_node *n, Onnx__NodeProto *node);

/* E_UNSUPPORTED: that opset does not have `what`. */
status write_not_known(const graph_node *n, const char *what, error *err);
/* E_UNSUPPORTED: `what` of the node changes with the size of the batch. */
status write_not_open(const graph_node *n, const char *what, error *err);

#endif
