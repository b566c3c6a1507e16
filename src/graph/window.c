#include "graph/window.h"

static const graph_shape *shape_at(const graph *g, graph_val v)
{
    return &graph_value_at(g, v)->shape;
}

/* Which operands x, w and y are. */
static window operands_of(const graph *g, const graph_node *n)
{
    const graph_shape *in = shape_at(g, n->in[0]), *out = shape_at(g, n->out[0]);
    switch (n->op) {
    case OP_CONV:
        return (window){.x = *in, .w = *shape_at(g, n->in[1]), .y = *out};
    case OP_CONV_TRANSPOSE:
    case OP_CONV_BWD_DATA:
        return (window){.x = *out, .w = *shape_at(g, n->in[1]), .y = *in};
    case OP_CONV_BWD_WEIGHTS:
        return (window){.x = *in, .w = ((const conv_attr *)n->attr)->w, .y = *shape_at(g, n->in[1])};
    case OP_MAX_POOL_BWD:
    case OP_AVERAGE_POOL_BWD:
    case OP_LP_POOL_BWD:
        return (window){.x = *out, .y = *in};
    default:
        return (window){.x = *in, .y = *out};
    }
}

/* One of its axes, of an image that has it. */
typedef struct window_axis {
    int64_t kernel, stride, dilation, begin, end;
} window_axis;

static window_axis axis_of(const graph_node *n, const window *w, int32_t i)
{
    if (n->op == OP_GLOBAL_AVERAGE_POOL)
        return (window_axis){w->x.dim[2 + i], 1, 1, 0, 0};
    if (w->w.rank > 0) {
        const conv_attr *a = n->attr;
        return (window_axis){w->w.dim[2 + i], a->strides[i], a->dilations[i], a->pads[i],
                             a->pads[w->axes + i]};
    }
    const pool_attr *a = n->attr;
    return (window_axis){a->kernel[i], a->strides[i], a->dilations[i], a->pads[i],
                         a->pads[w->axes + i]};
}

window window_of(const graph *g, const graph_node *n)
{
    window w = operands_of(g, n);
    w.axes = w.x.rank - 2;
    BUG_ON(w.axes < 1 || w.axes > SPATIAL);
    for (int32_t i = 0; i < SPATIAL; i++) {
        int32_t own = i - (SPATIAL - w.axes);
        window_axis a = own < 0 ? (window_axis){1, 1, 1, 0, 0} : axis_of(n, &w, own);
        w.in[i] = own < 0 ? 1 : w.x.dim[2 + own];
        w.out[i] = own < 0 ? 1 : w.y.dim[2 + own];
        w.kernel[i] = a.kernel;
        w.stride[i] = a.stride;
        w.dilation[i] = a.dilation;
        w.begin[i] = a.begin;
        w.end[i] = a.end;
        w.overhang[i] = (w.out[i] - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 - w.in[i] -
                        a.begin - a.end;
    }
    return w;
}

int64_t window_volume(const int64_t size[SPATIAL])
{
    return size[0] * size[1] * size[2];
}
