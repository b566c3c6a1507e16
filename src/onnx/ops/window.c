/* Convolution and pooling over 1 to 3 spatial axes. */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

/* What the attributes of a sliding window say; kernel is given for Conv. */
typedef struct window {
    int64_t kernel[SPATIAL], strides[SPATIAL], dilations[SPATIAL], pads[2 * SPATIAL];
} window;

static status same_length(const char *name, int32_t n, int32_t wanted, error *err)
{
    if (n < 0 || n == wanted)
        return OK;
    return FAIL(err, E_DATA, "its attribute '%s' has %" PRId32 " numbers, needs %" PRId32, name, n,
                wanted);
}

/* auto_pad: so that the window takes ceil(size / stride) places. */
static int64_t pad_same(int64_t size, int64_t kernel, int64_t stride, int64_t dilation)
{
    int64_t places = (size + stride - 1) / stride;
    int64_t total = (places - 1) * stride + (kernel - 1) * dilation + 1 - size;
    return total > 0 ? total : 0;
}

static status auto_pads(call *c, window *w, const graph_shape *x, error *err)
{
    const char *how = call_str(c, "auto_pad", "NOTSET");
    int32_t spatial = x->rank - 2;
    bool upper = strcmp(how, "SAME_UPPER") == 0, lower = strcmp(how, "SAME_LOWER") == 0;
    if (strcmp(how, "NOTSET") == 0)
        return OK;
    if (!upper && !lower && strcmp(how, "VALID") != 0)
        return call_refuse(err, "its auto_pad is '%s'", how);
    for (int32_t i = 0; i < spatial; i++) {
        int64_t total = 0;
        if (upper || lower)
            total = pad_same(x->dim[2 + i], w->kernel[i], w->strides[i], w->dilations[i]);
        w->pads[i] = upper ? total / 2 : total - total / 2;
        w->pads[spatial + i] = total - w->pads[i];
    }
    return OK;
}

/* `kernel`: the spatial part of Conv's weights, NULL if an attribute says it. */
static status read_window(call *c, const graph_shape *x, const int64_t *kernel, window *ret,
                          error *err)
{
    int32_t spatial = x->rank - 2;
    if (spatial < 1 || spatial > SPATIAL)
        return call_refuse(err, "it slides over %" PRId32 " axes; 1 to %d are supported", spatial,
                           SPATIAL);
    window w = {.pads = {0}};
    for (int32_t i = 0; i < spatial; i++)
        w.strides[i] = w.dilations[i] = 1;
    int32_t n = call_ints(c, "kernel_shape", w.kernel, SPATIAL);
    TRY(same_length("kernel_shape", n, spatial, err));
    TRY(same_length("strides", call_ints(c, "strides", w.strides, SPATIAL), spatial, err));
    TRY(same_length("dilations", call_ints(c, "dilations", w.dilations, SPATIAL), spatial, err));
    TRY(same_length("pads", call_ints(c, "pads", w.pads, 2 * SPATIAL), 2 * spatial, err));
    if (!kernel && n < 0)
        return FAIL(err, E_DATA, "it has no kernel_shape");
    for (int32_t i = 0; i < spatial; i++) {
        w.kernel[i] = kernel ? kernel[i] : w.kernel[i];
        int64_t *all[] = {&w.kernel[i], &w.strides[i], &w.dilations[i]};
        for (size_t k = 0; k < COUNT_OF(all); k++)
            if (*all[k] < 1 || *all[k] > INT32_MAX)
                return FAIL(err, E_DATA, "its kernel, strides and dilations must be positive");
        if (w.pads[i] < 0 || w.pads[spatial + i] < 0 || w.pads[i] > INT32_MAX ||
            w.pads[spatial + i] > INT32_MAX)
            return call_refuse(err, "its pads are negative");
    }
    TRY(auto_pads(c, &w, x, err));
    *ret = w;
    return OK;
}

status onnx_op_conv(call *c, error *err)
{
    graph_shape x, k;
    graph_val in[3] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    window w;
    conv_attr attr = {.group = call_int(c, "group", 1)};
    for (int32_t i = 0; i < 3; i++)
        if (i < 2 || call_has(c, i))
            TRY(call_value(c, i, &in[i], err));
    x = call_shape_of(c, in[0]);
    k = call_shape_of(c, in[1]);
    if (k.rank != x.rank)
        return FAIL(err, E_DATA, "its weights have %" PRId32 " axes, its input %" PRId32, k.rank,
                    x.rank);
    if (attr.group < 1)
        return FAIL(err, E_DATA, "its group is %" PRId64, attr.group);
    TRY(read_window(c, &x, k.dim + 2, &w, err));
    memcpy(attr.strides, w.strides, sizeof attr.strides);
    memcpy(attr.dilations, w.dilations, sizeof attr.dilations);
    memcpy(attr.pads, w.pads, sizeof attr.pads);
    return call_finish(c, OP_CONV, in, 3, &attr, err);
}

static status pool(call *c, graph_op op, error *err)
{
    graph_val x;
    window w;
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(read_window(c, &shape, NULL, &w, err));
    pool_attr attr = {.ceil_mode = call_int(c, "ceil_mode", 0) != 0,
                      .count_include_pad = call_int(c, "count_include_pad", 0) != 0};
    memcpy(attr.kernel, w.kernel, sizeof attr.kernel);
    memcpy(attr.strides, w.strides, sizeof attr.strides);
    memcpy(attr.dilations, w.dilations, sizeof attr.dilations);
    memcpy(attr.pads, w.pads, sizeof attr.pads);
    return call_finish(c, op, &x, 1, &attr, err);
}

status onnx_op_max_pool(call *c, error *err)
{
    if (call_wants(c, 1))
        return call_refuse(err, "its output of indices is not supported");
    return pool(c, OP_MAX_POOL, err);
}

status onnx_op_average_pool(call *c, error *err)
{
    return pool(c, OP_AVERAGE_POOL, err);
}

status onnx_op_global_average_pool(call *c, error *err)
{
    return call_unary(c, OP_GLOBAL_AVERAGE_POOL, NULL, err);
}
