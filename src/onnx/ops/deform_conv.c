/*
 * DeformConv (Dai and others, Deformable convolutional networks, 2017; with a mask Zhu and others,
 * Deformable ConvNets v2, 2018). Each element of a kernel reads x where it would stand plus an
 * offset of its own at every position of y: a GridSample in pixels gives all that is read, [N, C,
 * K, L] for K elements of a kernel and L positions of y, and a product with the weights does the
 * rest. So it has the gradients of both. What is read is K times as large as y's planes.
 */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

typedef struct deform {
    graph_shape x, w, y;
    int64_t strides[2], dilations[2], pads[4];
    int64_t groups, offset_groups;
    int64_t kernel, positions; /* K, L */
} deform;

static status read_list(call *c, const char *name, int32_t n, int64_t otherwise, int64_t least,
                        int64_t *ret, error *err)
{
    int32_t has = call_ints(c, name, ret, n);
    for (int32_t i = 0; i < n && has < 0; i++)
        ret[i] = otherwise;
    if (has >= 0 && has != n)
        return FAIL(err, E_DATA, "its %s have %" PRId32 " numbers, need %" PRId32, name, has, n);
    for (int32_t i = 0; i < n; i++)
        if (ret[i] < least || ret[i] > INT32_MAX)
            return FAIL(err, E_DATA, "one of its %s is %" PRId64, name, ret[i]);
    return OK;
}

static status read_attributes(call *c, deform *d, error *err)
{
    int64_t kernel[2];
    TRY(read_list(c, "strides", 2, 1, 1, d->strides, err));
    TRY(read_list(c, "dilations", 2, 1, 1, d->dilations, err));
    TRY(read_list(c, "pads", 4, 0, 0, d->pads, err));
    TRY(read_list(c, "kernel_shape", 2, 1, 1, kernel, err));
    d->groups = call_int(c, "group");
    d->offset_groups = call_int(c, "offset_group");
    for (int i = 0; i < 2; i++)
        if (call_attribute(c, "kernel_shape") && kernel[i] != d->w.dim[2 + i])
            return FAIL(err, E_DATA, "its kernel_shape is not that of its weights");
    int64_t channels = d->x.dim[1];
    if (d->groups < 1 || d->offset_groups < 1 || channels % d->groups ||
        channels % d->offset_groups || d->w.dim[0] % d->groups ||
        d->w.dim[1] != channels / d->groups)
        return FAIL(err, E_DATA,
                    "%" PRId64 " groups, and %" PRId64 " of offsets, do not fit %" PRId64
                    " channels",
                    d->groups, d->offset_groups, channels);
    return OK;
}

/* The shape of y, and whether offsets and mask have a number for each of its positions. */
static status read_shapes(call *c, deform *d, error *err)
{
    graph_shape given;
    dtype t;
    d->y = (graph_shape){4, {d->x.dim[0], d->w.dim[0]}};
    for (int i = 0; i < 2; i++) {
        int64_t reach = d->dilations[i] * (d->w.dim[2 + i] - 1) + 1;
        int64_t span = d->x.dim[2 + i] + d->pads[i] + d->pads[2 + i] - reach;
        if (d->w.dim[2 + i] < 1 || d->w.dim[2 + i] > INT32_MAX || span < 0)
            return FAIL(err, E_DATA, "its kernel does not fit axis %d of the input", 2 + i);
        d->y.dim[2 + i] = span / d->strides[i] + 1;
    }
    d->kernel = d->w.dim[2] * d->w.dim[3];
    d->positions = d->y.dim[2] * d->y.dim[3];
    for (int32_t i = 2; i < 5; i += 2) {
        graph_shape wanted = {4, {d->x.dim[0], d->offset_groups * d->kernel * (i == 2 ? 2 : 1),
                                  d->y.dim[2], d->y.dim[3]}};
        char is[SHAPE_TEXT], must[SHAPE_TEXT];
        if (i == 4 && !call_has(c, i))
            continue;
        TRY(call_describe(c, i, &given, &t, err));
        if (!graph_shape_equal(&given, &wanted))
            return FAIL(err, E_DATA, "its %s is %s, must be %s", i == 2 ? "offset" : "mask",
                        graph_shape_text(&given, is, sizeof is),
                        graph_shape_text(&wanted, must, sizeof must));
    }
    return OK;
}

/* Where the elements of a kernel stand without offsets: [1, K, rows, columns, 2], x first. */
static status standing(call *c, const deform *d, graph_val *ret, error *err)
{
    host_tensor *h;
    graph_shape s = {5, {1, d->kernel, d->y.dim[2], d->y.dim[3], 2}};
    TRY(host_create(c->im->a, DT_F32, &s, &h, err));
    for (int64_t i = 0; i < h->n; i++) {
        int64_t axis = 1 - i % 2, column = i / 2 % s.dim[3], row = i / 2 / s.dim[3] % s.dim[2];
        int64_t k = i / 2 / s.dim[3] / s.dim[2];
        int64_t element = axis ? k % d->w.dim[3] : k / d->w.dim[3];
        int64_t at = (axis ? column : row) * d->strides[axis] - d->pads[axis];
        host_set(h, i, (double)(at + element * d->dilations[axis]));
    }
    return graph_const(c->im->g, NULL, DT_F32, s, h->data, ret, err);
}

static status reshaped(call *c, graph_val *v, const graph_shape *s, error *err)
{
    return call_emit(c, OP_RESHAPE, v, 1, &(shape_attr){.shape = *s}, v, err);
}

/* [N * offset groups, K * rows, columns, 2]: ONNX has a pair's y first, a grid its x. */
static status grid(call *c, const deform *d, graph_val *ret, error *err)
{
    int64_t images = d->x.dim[0] * d->offset_groups, rows = d->y.dim[2], columns = d->y.dim[3];
    graph_shape apart = {5, {images, d->kernel, 2, rows, columns}};
    graph_shape whole = {4, {images, d->kernel * rows, columns, 2}};
    transpose_attr order = {.perm = {0, 1, 3, 4, 2}};
    slice_attr reversed = {.n_axes = 1, .axes = {4}, .begin = {1}, .end = {-3}, .step = {-1}};
    graph_val in[2];
    TRY(call_value(c, 2, &in[0], err));
    TRY(reshaped(c, &in[0], &apart, err));
    TRY(call_emit(c, OP_TRANSPOSE, in, 1, &order, in, err));
    TRY(call_emit(c, OP_SLICE, in, 1, &reversed, in, err));
    TRY(standing(c, d, &in[1], err));
    TRY(call_emit(c, OP_ADD, in, 2, NULL, ret, err));
    return reshaped(c, ret, &whole, err);
}

/* All that is read, [N, groups, C / groups * K, L]. */
static status columns(call *c, const deform *d, graph_val *ret, error *err)
{
    int64_t n = d->x.dim[0], channels = d->x.dim[1], rows = d->kernel * d->y.dim[2];
    graph_shape parts = {4, {n * d->offset_groups, channels / d->offset_groups, d->x.dim[2],
                             d->x.dim[3]}};
    graph_shape mask = {4, {parts.dim[0], 1, rows, d->y.dim[3]}};
    graph_shape all = {4, {n, d->groups, channels / d->groups * d->kernel, d->positions}};
    graph_val in[2];
    TRY(call_value(c, 0, &in[0], err));
    TRY(reshaped(c, &in[0], &parts, err));
    TRY(grid(c, d, &in[1], err));
    TRY(call_emit(c, OP_GRID_SAMPLE, in, 2, &(grid_attr){.pixels = true}, &in[0], err));
    if (call_has(c, 4)) {
        TRY(call_value(c, 4, &in[1], err));
        TRY(reshaped(c, &in[1], &mask, err));
        TRY(call_emit(c, OP_MUL, in, 2, NULL, in, err));
    }
    *ret = in[0];
    return reshaped(c, ret, &all, err);
}

status onnx_op_deform_conv(call *c, error *err)
{
    deform d = {.groups = 0};
    graph_val in[2], y[2];
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    d.x = call_shape_of(c, in[0]);
    d.w = call_shape_of(c, in[1]);
    if (d.x.rank != 4 || d.w.rank != 4)
        return call_refuse(err, "it slides over %" PRId32 " axes; 2 are supported", d.x.rank - 2);
    TRY(read_attributes(c, &d, err));
    TRY(read_shapes(c, &d, err));
    graph_shape w = {3, {d.groups, d.w.dim[0] / d.groups, d.w.dim[1] * d.kernel}};
    graph_shape bias = {3, {d.w.dim[0], 1, 1}};
    TRY(columns(c, &d, &in[0], err));
    TRY(reshaped(c, &in[1], &w, err));
    TRY(call_emit(c, OP_MATMUL, (graph_val[]){in[1], in[0]}, 2, NULL, &y[0], err));
    TRY(reshaped(c, &y[0], &d.y, err));
    if (!call_has(c, 3)) {
        call_return(c, 0, y[0]);
        return OK;
    }
    TRY(call_value(c, 3, &y[1], err));
    TRY(reshaped(c, &y[1], &bias, err));
    return call_finish(c, OP_ADD, y, 2, NULL, err);
}
