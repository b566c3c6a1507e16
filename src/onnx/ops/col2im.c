/*
 * Col2Im: the sum of blocks at the positions that a window slides over, PyTorch's Fold. A
 * transposed convolution with one weight of 1 for each element of a block does that exactly; where
 * no blocks touch or overlap, elements only change their positions.
 */
#include "onnx/ops.h"

#include <inttypes.h>
#include <string.h>

typedef struct fold {
    int32_t axes;
    int64_t image[SPATIAL], block[SPATIAL], positions[SPATIAL];
    int64_t n_block, n_positions; /* elements of a block, and blocks */
    conv_attr conv;            /* strides, dilations, pads and what is left at the end */
} fold;

static status read_lengths(call *c, fold *f, error *err)
{
    int32_t n;
    TRY(call_known_ints(c, 1, f->image, SPATIAL, &f->axes, err));
    TRY(call_known_ints(c, 2, f->block, SPATIAL, &n, err));
    if (f->axes < 1 || n != f->axes)
        return FAIL(err, E_DATA, "its image and its block have %" PRId32 " and %" PRId32 " axes",
                    f->axes, n);
    for (int32_t i = 0; i < n; i++)
        f->conv.strides[i] = f->conv.dilations[i] = 1;
    const struct {
        const char *name;
        int64_t *to;
        int32_t n;
    } lists[] = {{"strides", f->conv.strides, n},
                 {"dilations", f->conv.dilations, n},
                 {"pads", f->conv.pads, 2 * n}};
    for (size_t k = 0; k < COUNT_OF(lists); k++) {
        int32_t has = call_ints(c, lists[k].name, lists[k].to, lists[k].n);
        if (has >= 0 && has != lists[k].n)
            return FAIL(err, E_DATA, "its %s have %" PRId32 " numbers, need %" PRId32,
                        lists[k].name, has, lists[k].n);
    }
    return OK;
}

static bool is_length(int64_t x)
{
    return x >= 1 && x <= INT32_MAX;
}

/* How often the window fits each axis. */
static status slide(fold *f, error *err)
{
    f->n_block = f->n_positions = 1;
    for (int32_t i = 0; i < f->axes; i++) {
        int64_t begin = f->conv.pads[i], end = f->conv.pads[f->axes + i];
        int64_t stride = f->conv.strides[i], dilation = f->conv.dilations[i];
        if (!is_length(f->image[i]) || !is_length(f->block[i]) || !is_length(stride) ||
            !is_length(dilation) || begin < 0 || end < 0 || begin > INT32_MAX || end > INT32_MAX)
            return FAIL(err, E_DATA, "a length, stride, dilation or pad of axis %" PRId32
                        " is impossible", i);
        int64_t span = f->image[i] + begin + end - dilation * (f->block[i] - 1) - 1;
        if (span < 0)
            return FAIL(err, E_DATA, "its block does not fit axis %" PRId32 " of the image", i);
        f->positions[i] = span / stride + 1;
        f->conv.output_padding[i] = span % stride;
        if (__builtin_mul_overflow(f->n_block, f->block[i], &f->n_block) ||
            __builtin_mul_overflow(f->n_positions, f->positions[i], &f->n_positions))
            return FAIL(err, E_DATA, "its blocks are too many");
    }
    return OK;
}

/* Whether blocks lie side by side and fill the image. */
static bool tiles(const fold *f)
{
    for (int32_t i = 0; i < f->axes; i++)
        if (f->conv.strides[i] != f->block[i] || f->conv.dilations[i] != 1 || f->conv.pads[i] ||
            f->conv.pads[f->axes + i] || f->conv.output_padding[i])
            return false;
    return true;
}

/* [NC, block..., positions...] to [NC, positions_1, block_1, ...]: then an axis of both is one. */
static status move_tiles(call *c, const fold *f, graph_val *v, int64_t planes, error *err)
{
    graph_shape apart = {.rank = 1 + 2 * f->axes, .dim = {planes}};
    transpose_attr order;
    memset(&order, 0, sizeof order);
    for (int32_t i = 0; i < f->axes; i++) {
        apart.dim[1 + i] = f->block[i];
        apart.dim[1 + f->axes + i] = f->positions[i];
        order.perm[1 + 2 * i] = 1 + f->axes + i;
        order.perm[2 + 2 * i] = 1 + i;
    }
    TRY(call_emit(c, OP_RESHAPE, v, 1, &(shape_attr){.shape = apart}, v, err));
    return call_emit(c, OP_TRANSPOSE, v, 1, &order, v, err);
}

/* [NC, block, positions...], by a weight for each element of a block: [block, 1, block...]. */
static status add_blocks(call *c, const fold *f, graph_val *v, int64_t planes, error *err)
{
    graph_val in[3] = {GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    graph_shape x = {.rank = 2 + f->axes, .dim = {planes, f->n_block}};
    graph_shape w = {.rank = 2 + f->axes, .dim = {f->n_block, 1}};
    host_tensor *ones;
    for (int32_t i = 0; i < f->axes; i++) {
        x.dim[2 + i] = f->positions[i];
        w.dim[2 + i] = f->block[i];
    }
    TRY(host_create(c->im->a, DT_F32, &w, &ones, err));
    for (int64_t i = 0; i < f->n_block; i++)
        host_set(ones, i * f->n_block + i, 1.0);
    TRY(call_emit(c, OP_RESHAPE, v, 1, &(shape_attr){.shape = x}, &in[0], err));
    TRY(graph_const(c->im->g, NULL, DT_F32, w, ones->data, &in[1], err));
    return call_emit(c, OP_CONV_TRANSPOSE, in, 3, &f->conv, v, err);
}

status onnx_op_col2_im(call *c, error *err)
{
    fold f = {.axes = 0, .conv = {.group = 1}};
    graph_val x;
    TRY(call_value(c, 0, &x, err));
    TRY(read_lengths(c, &f, err));
    TRY(slide(&f, err));
    graph_shape s = call_shape_of(c, x);
    if (s.rank != 3 || s.dim[1] % f.n_block != 0 || s.dim[2] != f.n_positions)
        return FAIL(err, E_DATA,
                    "its input must be [batch, channels times %" PRId64 ", %" PRId64 "]", f.n_block,
                    f.n_positions);
    int64_t planes = s.dim[0] * (s.dim[1] / f.n_block);
    graph_shape y = {.rank = 2 + f.axes, .dim = {s.dim[0], s.dim[1] / f.n_block}};
    for (int32_t i = 0; i < f.axes; i++)
        y.dim[2 + i] = f.image[i];
    if (tiles(&f))
        TRY(move_tiles(c, &f, &x, planes, err));
    else
        TRY(add_blocks(c, &f, &x, planes, err));
    return call_finish(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = y}, err);
}
