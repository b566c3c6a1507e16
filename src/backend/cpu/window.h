/* The moving window of convolutions and pooling, from ONNX attributes. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_WINDOW_H
#define TEQUIO_BACKEND_CPU_WINDOW_H

#include "backend/cpu/dnnl_shim.h"
#include "graph/graph.h"

/* `kernel`, `strides`, `pads`, `dilations` as in attrs.h (zeros count as 1 where it says so); x and
 * y [N,C,spatial...] are the shapes before and after. Padding at the end is what makes y fit. */
MUST_USE status window_make(const int64_t *kernel, const int64_t *strides, const int64_t *pads,
                            const int64_t *dilations, const graph_shape *x, const graph_shape *y,
                            shim_window *ret, error *err);

#endif
