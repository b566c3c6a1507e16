/* What Slice takes of each axis, in all the ways opsets have said it. Only for ops/ and fold/. */
#ifndef TEQUIO_ONNX_SLICES_H
#define TEQUIO_ONNX_SLICES_H

#include "onnx/call.h"

typedef struct slices {
    int64_t begin[GRAPH_RANK], step[GRAPH_RANK], n[GRAPH_RANK]; /* n: how many are taken */
} slices;

MUST_USE status slices_of(call *c, const graph_shape *x, slices *ret, error *err);

/* The sizes that Split makes along its axis; as many as the call has outputs. */
MUST_USE status split_sizes(call *c, const graph_shape *x, int32_t *ret_axis, int64_t *ret,
                            error *err);

#endif
