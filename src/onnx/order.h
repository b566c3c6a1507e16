/*
 * Which nodes of a graph, subgraph or function are wanted, and in which order they can run: those
 * that the wanted values depend on, in the file's order if that is a possible one.
 * Threads: pure.
 */
#ifndef TEQUIO_ONNX_ORDER_H
#define TEQUIO_ONNX_ORDER_H

#include "common/base/alloc.h"
#include "onnx/model.h"

typedef struct onnx_order {
    int32_t *nodes; /* of the arena */
    size_t n;
} onnx_order;

/* Names that no node makes come from elsewhere. E_DATA if two nodes make one value, or if nodes
 * wait for each other. */
MUST_USE status onnx_order_nodes(arena *a, Onnx__NodeProto *const *nodes, size_t n_nodes,
                                 const char *const *wanted, size_t n_wanted, onnx_order *ret,
                                 error *err);

/* "node 'conv1' (Conv)"; a node without a name is named by its first output. */
const char *onnx_node_text(const Onnx__NodeProto *n, char *buffer, size_t bytes);
enum { NODE_TEXT = 200 };
#define NODE(n) onnx_node_text((n), (char[NODE_TEXT]){0}, NODE_TEXT)

#endif
