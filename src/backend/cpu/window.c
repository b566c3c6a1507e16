#include "backend/cpu/window.h"

static int64_t or_one(int64_t x)
{
    return x ? x : 1;
}

status window_make(const int64_t *kernel, const int64_t *strides, const int64_t *pads,
                   const int64_t *dilations, const graph_shape *x, const graph_shape *y,
                   shim_window *ret, error *err)
{
    int rank = x->rank - 2;
    if (rank < 1 || rank > SHIM_SPATIAL)
        return FAIL(err, E_UNSUPPORTED, "%d spatial axes, known are 1 to %d", rank, SHIM_SPATIAL);
    shim_window w = {.rank = rank};
    for (int i = 0; i < rank; i++) {
        w.kernel[i] = kernel[i];
        w.stride[i] = or_one(strides[i]);
        w.dilation[i] = or_one(dilations[i]);
        w.begin[i] = pads[i];
        w.end[i] = pads[rank + i];
        /* ceil_mode lets the last window hang over: the overhang counts as padding */
        int64_t reach = (w.kernel[i] - 1) * w.dilation[i] + 1;
        int64_t in = x->dim[2 + i], out = y->dim[2 + i];
        if ((in + w.begin[i] + w.end[i] - reach) / w.stride[i] + 1 != out)
            w.end[i] = (out - 1) * w.stride[i] + reach - in - w.begin[i];
    }
    *ret = w;
    return OK;
}

window_plane window_plane_of(const shim_window *w, const graph_shape *x, const graph_shape *y)
{
    window_plane p = {.window = {.rank = SHIM_SPATIAL}, .n_in = 1, .n_out = 1};
    int lead = SHIM_SPATIAL - w->rank;
    for (int i = 0; i < SHIM_SPATIAL; i++) {
        int from = i - lead;
        bool own = from >= 0;
        p.window.kernel[i] = own ? w->kernel[from] : 1;
        p.window.stride[i] = own ? w->stride[from] : 1;
        p.window.dilation[i] = own ? w->dilation[from] : 1;
        p.window.begin[i] = own ? w->begin[from] : 0;
        p.window.end[i] = own ? w->end[from] : 0;
        p.in[i] = own ? x->dim[2 + from] : 1;
        p.out[i] = own ? y->dim[2 + from] : 1;
        p.n_in *= p.in[i];
        p.n_out *= p.out[i];
    }
    return p;
}

window_taps window_taps_at(const window_plane *p, int64_t o)
{
    window_taps t = {0};
    int64_t elements = 1;
    for (int i = SHIM_SPATIAL - 1; i >= 0; i--) {
        int64_t gap = p->window.dilation[i];
        int64_t at = o % p->out[i] * p->window.stride[i] - p->window.begin[i];
        int64_t skip = at < 0 ? (gap - 1 - at) / gap : 0;
        int64_t within = (p->in[i] - at + gap - 1) / gap; /* taps before the image ends */
        within = within < p->window.kernel[i] ? within : p->window.kernel[i];
        t.count[i] = within > skip ? within - skip : 0;
        t.first += (at + skip * gap) * elements;
        t.step[i] = gap * elements;
        elements *= p->in[i];
        o /= p->out[i];
    }
    return t;
}
