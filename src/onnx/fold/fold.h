/*
 * What folds share: results of limited size, and the arithmetic of shapes. A fold computes a node's
 * value from inputs that are all known; it declines by returning nothing, and then the node becomes
 * one of the graph. Floats are computed in double and rounded to the type. Only for fold/.
 */
#ifndef TEQUIO_ONNX_FOLD_FOLD_H
#define TEQUIO_ONNX_FOLD_FOLD_H

#include "onnx/ops.h"

enum {
    FOLD_MOST = 1 << 20,            /* elements: larger results are left to the run */
    FOLD_LARGEST = 1 << 26,         /* where the run cannot make them */
    FOLD_ALL = 1 << 28,             /* of a whole model: a loop may fold its body again and again */
};

/* Input i, which is known; E_DATA if it is absent. */
MUST_USE status onnx_fold_input(call *c, int32_t i, const host_tensor **ret, error *err);
/* A new result for output 0, returned already; NULL: too large, decline. */
MUST_USE status onnx_fold_result(call *c, dtype t, const graph_shape *shape, host_tensor **ret,
                            error *err);
/* The same for an operator that no node of a graph carries out. E_UNSUPPORTED: larger than
 * FOLD_LARGEST; E_DATA: no shape. */
MUST_USE status onnx_fold_only_result(call *c, dtype t, const graph_shape *shape, host_tensor **ret,
                                 error *err);
/* E_DATA if they do not fit. */
MUST_USE status onnx_fold_broadcast(const graph_shape *a, const graph_shape *b, graph_shape *ret,
                               error *err);
int64_t onnx_fold_elements(const graph_shape *s);
/* Elements behind one step along the axis. */
int64_t onnx_fold_stride(const graph_shape *s, int32_t axis);

#endif
