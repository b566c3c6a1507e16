/* The loops behind support_reference.h, for its files and those of families/ alone. */
#ifndef TEQUIO_TESTS_NUMERIC_SUPPORT_REFERENCE_OPS_H
#define TEQUIO_TESTS_NUMERIC_SUPPORT_REFERENCE_OPS_H

#include "graph/attrs.h"
#include "graph/graph.h"

typedef struct ref_tensor {
    graph_shape shape;
    int64_t n;
    double *x; /* NULL: the operand is absent */
    dtype type;
} ref_tensor;

/* in[] and out[] as the node has them. */
typedef void ref_op(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                    const void *attr);

/* The coordinates of element i of a tensor of that shape, and back. */
void ref_unravel(const graph_shape *s, int64_t i, int64_t *ret_at);
int64_t ref_ravel(const graph_shape *s, const int64_t *at);
/* Of the next element; behind the last comes the first. */
void ref_advance(const graph_shape *s, int64_t *at);

/* Elements before, along and after an axis: [outer, n, inner]. */
typedef struct ref_axis {
    int64_t outer, n, inner;
} ref_axis;
ref_axis ref_split(const graph_shape *s, int32_t axis);

/* A function a family of ops.def. */
#define OP(ID, name, fewest, most, outputs, traits, family, ...) ref_op ref_##family;
#define GRADIENT(...)
#include "graph/ops.def"

/* The element of `from` that broadcasting puts at coordinates `at` of `to`. */
int64_t ref_broadcast_from(const graph_shape *from, const graph_shape *to, const int64_t *at);

#endif
