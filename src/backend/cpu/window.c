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
