#include "backend/cpu/window.h"

shim_window window_shim(const window *w)
{
    shim_window s = {.rank = w->axes};
    for (int32_t i = 0; i < w->axes; i++) {
        int32_t from = SPATIAL - w->axes + i;
        /* ceil_mode lets the last window hang over, which counts as padding; an end that no window
         * reaches is left alone unless another window would fit in there */
        bool fits = w->overhang[from] <= 0 && -w->overhang[from] < w->stride[from];
        s.kernel[i] = w->kernel[from];
        s.stride[i] = w->stride[from];
        s.dilation[i] = w->dilation[from];
        s.begin[i] = w->begin[from];
        s.end[i] = w->end[from] + (fits ? 0 : w->overhang[from]);
    }
    return s;
}

window_taps window_taps_at(const window *w, int64_t o)
{
    window_taps t = {0};
    int64_t elements = 1;
    for (int i = SPATIAL - 1; i >= 0; i--) {
        int64_t gap = w->dilation[i];
        int64_t at = o % w->out[i] * w->stride[i] - w->begin[i];
        int64_t skip = at < 0 ? (gap - 1 - at) / gap : 0;
        int64_t within = (w->in[i] - at + gap - 1) / gap; /* taps before the image ends */
        within = within < w->kernel[i] ? within : w->kernel[i];
        t.count[i] = within > skip ? within - skip : 0;
        t.first += (at + skip * gap) * elements;
        t.step[i] = gap * elements;
        elements *= w->in[i];
        o /= w->out[i];
    }
    return t;
}
