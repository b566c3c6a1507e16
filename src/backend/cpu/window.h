/* The moving window of convolutions and pooling, from ONNX attributes. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_WINDOW_H
#define TEQUIO_BACKEND_CPU_WINDOW_H

#include "backend/cpu/dnnl/shim.h"
#include "graph/graph.h"

/* `kernel`, `strides`, `pads`, `dilations` as in attrs.h (zeros count as 1 where it says so); x and
 * y [N,C,spatial...] are the shapes before and after. Padding at the end is what makes y fit. */
MUST_USE status window_make(const int64_t *kernel, const int64_t *strides, const int64_t *pads,
                            const int64_t *dilations, const graph_shape *x, const graph_shape *y,
                            shim_window *ret, error *err);

/* The same window for plain loops: always SHIM_SPATIAL axes, those in front of the image's own of
 * size 1. */
typedef struct window_plane {
    shim_window window;
    int64_t in[SHIM_SPATIAL], out[SHIM_SPATIAL];
    int64_t n_in, n_out; /* elements of a plane */
} window_plane;

window_plane window_plane_of(const shim_window *w, const graph_shape *x, const graph_shape *y);

/* Input elements under the window at place `o` of the output plane, padding left out. */
typedef struct window_taps {
    int64_t first, count[SHIM_SPATIAL], step[SHIM_SPATIAL]; /* in elements */
} window_taps;

window_taps window_taps_at(const window_plane *p, int64_t o);

#endif
