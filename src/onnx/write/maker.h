/*
 * A model under construction: the protobuf message of a file, in an arena. Functions of an operator
 * (ops.h) append nodes to it; what they name inside an operator ("fc1/erf") nobody else names,
 * since values of a graph have other names.
 *
 * Threads: one at a time.
 */
#ifndef TEQUIO_ONNX_WRITE_MAKER_H
#define TEQUIO_ONNX_WRITE_MAKER_H

#include "graph/attrs.h"
#include "onnx/export.h"

#include "proto/onnx.pb-c.h"

typedef struct maker {
    arena *memory;
    const graph *g, *twin; /* twin NULL: every size is fixed */
    const onnx_export *request;
    Onnx__GraphProto *graph;
    size_t cap_nodes, cap_initializers;
} maker;

/* The name of input or output i of a node; "" where it is absent. */
const char *maker_in(const maker *m, const graph_node *n, int32_t i);
const char *maker_out(const maker *m, const graph_node *n, int32_t i);
const graph_shape *maker_shape(const maker *m, graph_val v);
/* The same value's shape for the other batch size; that of `v` itself without a twin. */
const graph_shape *maker_twin_shape(const maker *m, graph_val v);

/* Appends a node; names are borrowed. Its name is that of its first output. */
Onnx__NodeProto *maker_node(maker *m, const char *type, const char *const *in, size_t n_in,
                            const char *const *out, size_t n_out);
/* The same with one output, whose name it returns; inputs up to the first NULL. */
const char *maker_call(maker *m, const char *type, const char *out, const char *a, const char *b,
                       const char *c);
/* A name for a value inside node n. */
const char *maker_inside(maker *m, const graph_node *n, const char *what);

/* Attributes; lists and texts are copied. */
void maker_int(maker *m, Onnx__NodeProto *node, const char *name, int64_t value);
void maker_float(maker *m, Onnx__NodeProto *node, const char *name, float value);
void maker_string(maker *m, Onnx__NodeProto *node, const char *name, const char *value);
void maker_ints(maker *m, Onnx__NodeProto *node, const char *name, const int64_t *values, size_t n);

/* Initializers. `data` is borrowed until the file is written, others are copied; they return the
 * name. */
void maker_tensor(maker *m, const char *name, dtype t, const graph_shape *shape, const void *data,
                  size_t bytes);
const char *maker_const_ints(maker *m, const char *name, const int64_t *values, size_t n);
const char *maker_const_float(maker *m, const char *name, float value);

int32_t maker_onnx_type(dtype t);

#endif
