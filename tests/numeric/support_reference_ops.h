/* The loops behind support_reference.h, for its files alone. */
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
typedef void ref_op(const ref_tensor *in, int32_t n_in, const ref_tensor *out, const void *attr);

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

ref_op ref_conv, ref_max_pool, ref_average_pool, ref_lp_pool, ref_global_average_pool;
ref_op ref_accuracy, ref_layer_norm, ref_rms_norm, ref_attention, ref_rotary;
ref_op ref_to_half, ref_conv_transpose, ref_group_norm, ref_lrn;
ref_op ref_recurrent;
ref_op ref_softmax, ref_log_softmax, ref_cross_entropy, ref_batch_norm, ref_dropout, ref_random, ref_roi_align;

ref_op ref_gather, ref_gather_elements, ref_gather_nd, ref_scatter_elements, ref_scatter_nd;
ref_op ref_slice, ref_trilu, ref_one_hot, ref_reverse_sequence, ref_top_k;
ref_op ref_pad, ref_resize, ref_grid_sample;

/* The element of `from` that broadcasting puts at coordinates `at` of `to`. */
int64_t ref_broadcast_from(const graph_shape *from, const graph_shape *to, const int64_t *at);

/* Arithmetic, comparisons, logic, Where, Cast. */
void ref_broadcast(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                   const void *attr);

void ref_reduce(graph_op op, const ref_tensor *in, const ref_tensor *out, const void *attr);
void ref_along(graph_op op, const ref_tensor *in, const ref_tensor *out, const void *attr);

/* The operators of unary.def, and Neg. */
void ref_unary(graph_op op, const ref_tensor *in, const ref_tensor *out, const void *attr);

#endif
