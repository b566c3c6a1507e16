/* Convolution and pooling over 1 to 3 spatial axes. */
#include "onnx/ops.h"
#include "onnx/ops/conv.h"

#include <inttypes.h>
#include <string.h>

/* What the attributes of a sliding window say; kernel is given for Conv. */
typedef struct window {
    int64_t kernel[SPATIAL], strides[SPATIAL], dilations[SPATIAL], pads[2 * SPATIAL];
    auto_pad auto_pad;
} window;

static status same_length(const char *name, int32_t n, int32_t wanted, error *err)
{
    if (n < 0 || n == wanted)
        return OK;
    return FAIL(err, E_DATA, "its attribute '%s' has %" PRId32 " numbers, needs %" PRId32, name, n,
                wanted);
}

static status read_auto_pad(call *c, auto_pad *ret, error *err)
{
    static const struct {
        const char *name;
        auto_pad pad;
    } words[] = {{"NOTSET", PAD_GIVEN},
                 {"SAME_UPPER", PAD_SAME_UPPER},
                 {"SAME_LOWER", PAD_SAME_LOWER},
                 {"VALID", PAD_VALID}};
    const char *how = call_knows(c, "auto_pad") ? call_str(c, "auto_pad") : "NOTSET";
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(words[i].name, how) == 0) {
            *ret = words[i].pad;
            return OK;
        }
    return call_refuse(err, "its auto_pad is '%s'", how);
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
            return call_refuse(err, "its pads are negative; cut the input by a Slice");
    }
    TRY(read_auto_pad(c, &w.auto_pad, err));
    *ret = w;
    return OK;
}

status conv_attributes(call *c, const graph_shape *x, const graph_shape *k, conv_attr *ret,
                       error *err)
{
    window w;
    conv_attr attr = {.group = call_int(c, "group")};
    if (k->rank != x->rank)
        return FAIL(err, E_DATA, "its weights have %" PRId32 " axes, its input %" PRId32, k->rank,
                    x->rank);
    if (attr.group < 1)
        return FAIL(err, E_DATA, "its group is %" PRId64, attr.group);
    TRY(read_window(c, x, k->dim + 2, &w, err));
    memcpy(attr.strides, w.strides, sizeof attr.strides);
    memcpy(attr.dilations, w.dilations, sizeof attr.dilations);
    memcpy(attr.pads, w.pads, sizeof attr.pads);
    attr.auto_pad = w.auto_pad;
    *ret = attr;
    return OK;
}

/* Operands and attributes that both directions of a convolution share. */
static status read_conv(call *c, graph_val in[3], conv_attr *ret, error *err)
{
    in[2] = GRAPH_NONE;
    for (int32_t i = 0; i < 3; i++)
        if (i < 2 || call_has(c, i))
            TRY(call_value(c, i, &in[i], err));
    graph_shape x = call_shape_of(c, in[0]), k = call_shape_of(c, in[1]);
    return conv_attributes(c, &x, &k, ret, err);
}

status onnx_op_conv(call *c, error *err)
{
    graph_val in[3];
    conv_attr attr;
    TRY(read_conv(c, in, &attr, err));
    return call_finish(c, OP_CONV, in, 3, &attr, err);
}

status onnx_op_conv_transpose(call *c, error *err)
{
    graph_val in[3];
    conv_attr attr;
    TRY(read_conv(c, in, &attr, err));
    int32_t spatial = call_shape_of(c, in[0]).rank - 2;
    int32_t n = call_ints(c, "output_padding", attr.output_padding, SPATIAL);
    TRY(same_length("output_padding", n, spatial, err));
    n = call_ints(c, "output_shape", attr.output_shape, SPATIAL);
    TRY(same_length("output_shape", n, spatial, err));
    return call_finish(c, OP_CONV_TRANSPOSE, in, 3, &attr, err);
}

static status read_pool(call *c, graph_val *ret_x, pool_attr *ret, error *err)
{
    window w;
    TRY(call_value(c, 0, ret_x, err));
    graph_shape shape = call_shape_of(c, *ret_x);
    TRY(read_window(c, &shape, NULL, &w, err));
    pool_attr attr = {.auto_pad = w.auto_pad,
                      .ceil_mode = call_flag(c, "ceil_mode"),
                      .count_include_pad = call_flag(c, "count_include_pad"),
                      .column_major = call_flag(c, "storage_order")};
    memcpy(attr.kernel, w.kernel, sizeof attr.kernel);
    memcpy(attr.strides, w.strides, sizeof attr.strides);
    memcpy(attr.dilations, w.dilations, sizeof attr.dilations);
    memcpy(attr.pads, w.pads, sizeof attr.pads);
    *ret = attr;
    return OK;
}

/* Integers of 8 bits are as good as floats there. */
status onnx_op_max_pool(call *c, error *err)
{
    graph_val x, out[3];
    pool_attr attr;
    TRY(read_pool(c, &x, &attr, err));
    attr.indices = call_wants(c, 1);
    dtype held = call_at(c, x)->dtype;
    bool is_small = held != DT_F32 && call_element(c, 0)->bits <= 8;
    if (is_small)
        TRY(call_emit(c, OP_CAST, &x, 1, &(cast_attr){.to = DT_F32}, &x, err));
    TRY(graph_add(c->im->g, OP_MAX_POOL, is_small ? NULL : c->name, &x, 1, &attr, out, err));
    if (is_small)
        TRY(call_emit(c, OP_CAST, out, 1, &(cast_attr){.to = held}, out, err));
    call_return(c, 0, out[0]);
    if (attr.indices)
        call_return(c, 1, out[2]);
    return OK;
}

/* What a MaxPool of these windows was made of, its axes as long as they may have been. */
static status unpooled(call *c, const graph_shape *x, graph_shape *ret, error *err)
{
    window w;
    TRY(read_window(c, x, NULL, &w, err));
    int32_t spatial = x->rank - 2;
    *ret = *x;
    for (int32_t i = 0; i < spatial; i++) {
        int64_t pads = w.pads[i] + w.pads[spatial + i];
        if (x->dim[2 + i] > INT32_MAX)
            return call_refuse(
                err, "axis %" PRId32 " of its input is too long for its strides; make it shorter",
                2 + i);
        ret->dim[2 + i] = (x->dim[2 + i] - 1) * w.strides[i] + w.kernel[i] - pads;
        if (ret->dim[2 + i] < 1)
            return FAIL(err, E_DATA, "its pads leave nothing of axis %" PRId32, 2 + i);
    }
    return OK;
}

/* Axes that are to be longer have zeros behind. */
static status lengthen(call *c, graph_val y, const graph_shape *shape, error *err)
{
    int64_t wanted[GRAPH_RANK];
    int32_t n;
    pad_attr attr = {.mode = PAD_CONSTANT};
    TRY(call_known_ints(c, 2, wanted, GRAPH_RANK, &n, err));
    if (n >= 0 && n != shape->rank)
        return FAIL(err, E_DATA, "its output_shape has %" PRId32 " axes, its input %" PRId32, n,
                    shape->rank);
    for (int32_t i = 0; i < n; i++) {
        attr.pads[n + i] = wanted[i] - shape->dim[i];
        if (wanted[i] < shape->dim[i])
            return FAIL(err, E_DATA, "its output_shape is shorter than what it makes");
    }
    return call_finish(c, OP_PAD, &y, 1, &attr, err);
}

/* Elements go back to the places that MaxPool's indices name among all elements. */
status onnx_op_max_unpool(call *c, error *err)
{
    const float nothing = 0.0f;
    graph_val x, by, y, in[3];
    graph_shape shape;
    TRY(call_value(c, 0, &x, err));
    TRY(call_value(c, 1, &by, err));
    graph_shape small = call_shape_of(c, x);
    TRY(unpooled(c, &small, &shape, err));
    const shape_attr row = {.shape = {.rank = 1, .dim = {graph_shape_elements(&small)}}};
    const shape_attr all = {.shape = {.rank = 1, .dim = {graph_shape_elements(&shape)}}};
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &nothing, &in[0], err));
    TRY(call_emit(c, OP_EXPAND, in, 1, &all, &in[0], err));
    TRY(call_emit(c, OP_RESHAPE, &by, 1, &row, &in[1], err));
    TRY(call_emit(c, OP_RESHAPE, &x, 1, &row, &in[2], err));
    TRY(call_emit(c, OP_SCATTER_ELEMENTS, in, 3, &(index_attr){.axis = 0}, &y, err));
    TRY(call_emit(c, OP_RESHAPE, &y, 1, &(shape_attr){.shape = shape}, &y, err));
    return lengthen(c, y, &shape, err);
}

status onnx_op_average_pool(call *c, error *err)
{
    graph_val x;
    pool_attr attr;
    TRY(read_pool(c, &x, &attr, err));
    return call_finish(c, OP_AVERAGE_POOL, &x, 1, &attr, err);
}

status onnx_op_lp_pool(call *c, error *err)
{
    graph_val x;
    pool_attr attr;
    TRY(read_pool(c, &x, &attr, err));
    attr.p = call_int(c, "p");
    return call_finish(c, OP_LP_POOL, &x, 1, &attr, err);
}

status onnx_op_global_max_pool(call *c, error *err)
{
    return call_unary(c, OP_MAX_POOL, &(pool_attr){.whole_plane = true}, err);
}

status onnx_op_global_lp_pool(call *c, error *err)
{
    pool_attr attr = {.whole_plane = true, .p = call_int(c, "p")};
    return call_unary(c, OP_LP_POOL, &attr, err);
}

status onnx_op_global_average_pool(call *c, error *err)
{
    return call_unary(c, OP_GLOBAL_AVERAGE_POOL, NULL, err);
}
