#include "graph/ops/pool.h"

#include <inttypes.h>

status pool_shape(const graph_node *n, const graph_shape *x, graph_shape *ret, error *err)
{
    pool_attr *a = (pool_attr *)n->attr;
    int32_t spatial = x->rank - 2;
    if (spatial < 1 || spatial > SPATIAL)
        return rule_fail(n, err, "the input %s must be [batch,channels] and 1 to 3 spatial axes",
                         SHAPE(x));
    graph_shape y = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    for (int32_t i = 0; i < spatial; i++) {
        a->strides[i] = a->strides[i] ? a->strides[i] : 1;
        a->dilations[i] = a->dilations[i] ? a->dilations[i] : 1;
        a->kernel[i] = a->whole_plane ? x->dim[2 + i] : a->kernel[i];
        if (a->kernel[i] == 1)
            a->dilations[i] = 1; /* says nothing, and oneDNN has no dilated windows of one place */
        rule_window window = {.size = x->dim[2 + i],
                              .kernel = a->kernel[i],
                              .stride = a->strides[i],
                              .dilation = a->dilations[i],
                              .begin = a->pads[i],
                              .end = a->pads[spatial + i],
                              .ceil_mode = a->ceil_mode};
        rule_auto_pad(a->auto_pad, &window);
        a->pads[i] = window.begin;
        a->pads[spatial + i] = window.end;
        TRY(rule_slide(n, i, &window, &y.dim[2 + i], err));
        int64_t extent = a->dilations[i] * (a->kernel[i] - 1) + 1;
        if (window.begin >= extent || window.end >= extent)
            return rule_fail(n, err,
                             "pads %" PRId64 " and %" PRId64 " of spatial axis %" PRId32
                             " must be smaller than its window of %" PRId64,
                             window.begin, window.end, i, extent);
    }
    a->ceil_mode = a->ceil_mode && a->auto_pad == PAD_GIVEN;
    a->auto_pad = PAD_GIVEN;
    *ret = y;
    return OK;
}
