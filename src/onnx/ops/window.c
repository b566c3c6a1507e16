/* Pooling, where ONNX has it otherwise than a graph, and what puts pooled elements back. */
#include "onnx/ops.h"

#include <inttypes.h>

/* Integers of 8 bits are as good as floats there. */
status onnx_op_max_pool(call *c, error *err)
{
    graph_val x, out[3];
    pool_attr attr;
    TRY(call_value(c, 0, &x, err));
    TRY(call_fields(c, OP_MAX_POOL, &attr, err));
    attr.indices = call_wants(c, 1);
    dtype held = call_at(c, x)->dtype;
    bool is_byte = held != DT_F32 && call_element(c, 0)->bits <= 8;
    if (is_byte)
        TRY(call_emit(c, OP_CAST, &x, 1, &(cast_attr){.to = DT_F32}, &x, err));
    TRY(graph_add(c->im->g, OP_MAX_POOL, is_byte ? NULL : c->name, &x, 1, &attr, out, err));
    if (is_byte)
        TRY(call_emit(c, OP_CAST, out, 1, &(cast_attr){.to = held}, out, err));
    call_return(c, 0, out[0]);
    if (attr.indices)
        call_return(c, 1, out[2]);
    return OK;
}

static bool is_small(int64_t size)
{
    return size >= 1 && size <= INT32_MAX;
}

/* What a MaxPool of these windows was made of, its axes as long as they may have been. */
static status unpooled(call *c, const graph_shape *x, graph_shape *ret, error *err)
{
    pool_attr w;
    TRY(call_fields(c, OP_MAX_POOL, &w, err));
    int32_t spatial = x->rank - 2;
    *ret = *x;
    for (int32_t i = 0; i < spatial; i++) {
        int64_t pads = w.pads[i] + w.pads[spatial + i];
        if (!is_small(x->dim[2 + i]) || !is_small(w.strides[i]) || !is_small(w.kernel[i]) ||
            !is_small(w.pads[i] + 1) || !is_small(w.pads[spatial + i] + 1))
            return FAIL(err, E_DATA,
                        "its input, kernel and strides along axis %" PRId32
                        " must be positive, its pads 0 or more, and all in 32 bits",
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

/* Elements go back to the positions that MaxPool's indices name among all elements. */
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

static status global(call *c, graph_op op, error *err)
{
    pool_attr attr;
    TRY(call_fields(c, op, &attr, err));
    attr.whole_plane = true;
    return call_unary(c, op, &attr, err);
}

status onnx_op_global_max_pool(call *c, error *err)
{
    return global(c, OP_MAX_POOL, err);
}

status onnx_op_global_lp_pool(call *c, error *err)
{
    return global(c, OP_LP_POOL, err);
}
