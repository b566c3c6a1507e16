/*
 * Operations of cuDNN's graphs, by what they compute: each is put behind those that were added before, and
 * returns what it makes, y. Sums are float32's. Used by what is beside it alone.
 * Threads: as backend.h says.
 */
#ifndef TEQUIO_BACKEND_CUDA_LIBRARY_DNN_OPERATIONS_H
#define TEQUIO_BACKEND_CUDA_LIBRARY_DNN_OPERATIONS_H

#include "backend/cuda/library/dnn.h"

/* y = a b, of their last two axes. */
dnn_desc dnn_multiply(dnn_graph *g, dnn_desc a, dnn_desc b, dnn_desc y);
/* Over the axes that are 1 in y; DNN_REDUCE_ADD .. `in_order`: to the same bits every time. */
dnn_desc dnn_reduce(dnn_graph *g, unsigned what, bool in_order, dnn_desc x, dnn_desc y);
/* The same elements in another form. */
dnn_desc dnn_reshape(dnn_graph *g, dnn_desc x, dnn_desc y);
/* y = what(x[0], x[1], x[2]), element by element, in that precision; the second and third may be NULL. */
dnn_desc dnn_pointwise(dnn_graph *g, unsigned what, unsigned precision, const dnn_desc x[3], dnn_desc y);
/* Which element of the axis it is, in the form of x. */
dnn_desc dnn_index(dnn_graph *g, int64_t axis, dnn_desc x, dnn_desc y);
/* 1 with that probability, else 0; a seed and an offset are of the same bits at every run. */
dnn_desc dnn_draw(dnn_graph *g, double probability, dnn_desc seed, dnn_desc offset, dnn_desc y);

#endif
