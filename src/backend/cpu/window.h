/* The moving window of convolutions and pooling on a CPU. Pure functions. */
#ifndef TEQUIO_BACKEND_CPU_WINDOW_H
#define TEQUIO_BACKEND_CPU_WINDOW_H

#include "backend/cpu/dnnl/shim.h"
#include "graph/window.h"

/* As oneDNN takes it: the image's own axes, and padding behind that makes y fit. */
shim_window window_shim(const window *w);

/* Input elements under the window at position `o` of the output plane, padding left out. */
typedef struct window_taps {
    int64_t first, count[SPATIAL], step[SPATIAL]; /* in elements */
} window_taps;

window_taps window_taps_at(const window *w, int64_t o);

#endif
