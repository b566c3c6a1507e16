/*
 * A tensor taken apart at one axis: [outer, n, inner], row-major. What a kernel needs to know of
 * the shape of an operator that works along an axis, on every backend. Pure functions.
 */
#ifndef TEQUIO_GRAPH_AXIS_SPLIT_H
#define TEQUIO_GRAPH_AXIS_SPLIT_H

#include "graph/attrs.h"

typedef struct axis_split {
    int64_t outer, n, inner;
} axis_split;

/* `axis` is one of the shape's, 0 .. rank-1. */
axis_split axis_split_of(const graph_shape *s, int32_t axis);

/* LRN over the channels of x: how many count on both sides of each, and the factor of their squares. */
typedef struct lrn_form {
    axis_split x;
    int64_t before, behind;
    float alpha, beta, bias;
} lrn_form;
lrn_form lrn_form_of(const lrn_attr *a, const graph_shape *x);

/* ReverseSequence: x is [steps,examples,run...], or with the first two exchanged. */
typedef struct sequence_form {
    int64_t steps, examples, run;
    bool batch_first;
} sequence_form;
sequence_form sequence_form_of(const sequence_attr *a, const graph_shape *x);

#endif
