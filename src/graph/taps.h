/*
 * What resizing or padding does along one axis, as a sparse matrix: element j of the output is the
 * sum of weight[k] times element at[k] of the input, for k from begin[j] to begin[j+1]. Turned
 * around, the same matrix makes the gradient. Every backend reads these numbers, so all agree.
 *
 * Ownership: in the arena that is given. Threads: pure functions.
 */
#ifndef TEQUIO_GRAPH_TAPS_H
#define TEQUIO_GRAPH_TAPS_H

#include "graph/attrs.h"

typedef struct taps {
    int64_t n_out, n_in;
    int64_t *begin, *at;
    float *weight;
} taps;

/* Axis `axis` of a Resize whose attributes its rule has completed. An output without taps lies
 * outside the region of interest. */
taps taps_of_resize(arena *a, const resize_attr *r, int32_t axis);

/* The same for a Pad whose mode is not constant. */
taps taps_of_pad(arena *a, const pad_attr *p, int32_t axis);

/* The matrix transposed; the terms of a sum in the order of the outputs they come from. */
taps taps_transposed(arena *a, const taps *t);

/* Where element `at` of a padded axis comes from, -1 if from nowhere (mode constant). */
int64_t taps_pad_source(const pad_attr *p, int32_t axis, int64_t at);

#endif
