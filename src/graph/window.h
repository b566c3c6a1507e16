/*
 * The moving window of a convolution or of pooling, as every backend's kernels take it: three
 * spatial axes, those that an image does not have in front, 1 long. Made of shapes and of what the
 * shape rule has completed of the attributes, for forward operators and gradients alike. Pure
 * functions.
 */
#ifndef TEQUIO_GRAPH_WINDOW_H
#define TEQUIO_GRAPH_WINDOW_H

#include "graph/attrs.h"

typedef struct window {
    int64_t in[SPATIAL], out[SPATIAL]; /* positions of a plane of x and of y */
    int64_t kernel[SPATIAL], stride[SPATIAL], dilation[SPATIAL]; /* 1: taps are neighbours */
    int64_t begin[SPATIAL], end[SPATIAL];                        /* padding, as it was given */
    int64_t overhang[SPATIAL]; /* how far the last window reaches beyond it; below 0: not so far */
    int32_t axes;              /* the last ones, which the image has */
    graph_shape x, y, w;       /* [N,C,spatial...]; w of a convolution, [M,C/group,kernel...] */
} window;

/* Of an operator with a conv_attr or a pool_attr, or GLOBAL_AVERAGE_POOL. */
window window_of(const graph *g, const graph_node *n);

/* Elements of a plane, and taps of a window. */
int64_t window_volume(const int64_t size[SPATIAL]);

#endif
