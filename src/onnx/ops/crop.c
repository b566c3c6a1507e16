/* Operators on images that are made of Slice, Pad and products: CenterCropPad and AffineGrid. */
#include "onnx/ops.h"

#include <inttypes.h>

/* What each axis is to be long; others stay. */
static status read_sizes(call *c, const graph_shape *x, int64_t *ret, error *err)
{
    int64_t given[GRAPH_RANK], wanted[GRAPH_RANK];
    int32_t n = 0, n_axes = call_ints(c, "axes", given, GRAPH_RANK), axis;
    TRY(call_known_ints(c, 1, wanted, GRAPH_RANK, &n, err));
    if (n != (n_axes < 0 ? x->rank : n_axes))
        return FAIL(err, E_DATA, "it has %" PRId32 " sizes for %" PRId32 " axes", n,
                    n_axes < 0 ? x->rank : n_axes);
    for (int32_t i = 0; i < x->rank; i++)
        ret[i] = x->dim[i];
    for (int32_t i = 0; i < n; i++) {
        TRY(call_axis(n_axes < 0 ? i : given[i], x->rank, &axis, err));
        if (wanted[i] < 0)
            return FAIL(err, E_DATA, "its size %" PRId32 " is %" PRId64, i, wanted[i]);
        ret[axis] = wanted[i];
    }
    return OK;
}

status onnx_op_center_crop_pad(call *c, error *err)
{
    graph_val x;
    int64_t size[GRAPH_RANK];
    slice_attr cut = {.n_axes = 0};
    pad_attr pad = {.mode = PAD_CONSTANT};
    TRY(call_value(c, 0, &x, err));
    graph_shape s = call_shape_of(c, x);
    TRY(read_sizes(c, &s, size, err));
    for (int32_t i = 0; i < s.rank; i++) {
        int64_t more = size[i] - s.dim[i], begin = more < 0 ? -more / 2 : 0;
        cut.axes[i] = i;
        cut.begin[i] = begin;
        cut.end[i] = begin + (more < 0 ? size[i] : s.dim[i]);
        cut.step[i] = 1;
        cut.n_axes++;
        pad.pads[i] = more > 0 ? more / 2 : 0;
        pad.pads[s.rank + i] = more > 0 ? more - more / 2 : 0;
    }
    TRY(call_emit(c, OP_SLICE, &x, 1, &cut, &x, err));
    return call_finish(c, OP_PAD, &x, 1, &pad, err);
}

/* Place i of n along an axis from -1 to 1: of corners, or of the middles of as many pieces. */
static float position(int64_t i, int64_t n, bool corners)
{
    return corners ? (float)(-1.0 + 2.0 * (double)i / (double)(n - 1))
                   : (float)((2.0 * (double)i + 1.0) / (double)n - 1.0);
}

/* [positions, axes + 1]: of each position x, y (and z), and 1. */
static status positions_of(call *c, const int64_t *size, int32_t axes, bool corners, graph_val *ret,
                           error *err)
{
    int64_t n = 1;
    host_tensor *h;
    for (int32_t i = 0; i < axes; i++) {
        if (size[i] < 1 || __builtin_mul_overflow(n, size[i], &n) || n > 1 << 26)
            return call_refuse(
                err, "its grid has no positions, or more than 2^26; give it another size");
        if (corners && size[i] == 1)
            return call_refuse(
                err, "one position has no two corners; export it with align_corners=False");
    }
    TRY(host_create(c->im->a, DT_F32, &(graph_shape){2, {n, axes + 1}}, &h, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (int32_t k = axes; k-- > 0; rest /= size[k])
            host_set(h, i * (axes + 1) + axes - 1 - k,
                     (double)position(rest % size[k], size[k], corners));
        host_set(h, i * (axes + 1) + axes, 1.0);
    }
    return graph_const(c->im->g, NULL, DT_F32, h->shape, h->data, ret, err);
}

/* theta [N,2,3] or [N,3,4] applied to every position of a grid. */
status onnx_op_affine_grid(call *c, error *err)
{
    graph_val theta, in[2], y;
    int64_t size[GRAPH_RANK] = {0};
    int32_t n = 0;
    TRY(call_value(c, 0, &theta, err));
    TRY(call_known_ints(c, 1, size, GRAPH_RANK, &n, err));
    graph_shape s = call_shape_of(c, theta);
    int32_t axes = n - 2;
    if ((axes != 2 && axes != 3) || s.rank != 3 || s.dim[0] != size[0] || s.dim[1] != axes ||
        s.dim[2] != axes + 1)
        return FAIL(err, E_DATA, "its theta and its size do not fit each other");
    TRY(positions_of(c, size + 2, axes, call_int(c, "align_corners") != 0, &in[0], err));
    transpose_attr transposed = {.perm = {0, 2, 1}};
    TRY(call_emit(c, OP_TRANSPOSE, &theta, 1, &transposed, &in[1], err));
    TRY(call_emit(c, OP_MATMUL, in, 2, NULL, &y, err));
    graph_shape grid = {.rank = axes + 2, .dim = {size[0]}};
    for (int32_t i = 0; i < axes; i++)
        grid.dim[1 + i] = size[2 + i];
    grid.dim[axes + 1] = axes;
    return call_finish(c, OP_RESHAPE, &y, 1, &(shape_attr){.shape = grid}, err);
}
