/* Softmax and LogSoftmax. Before opset 13 they worked on the input flattened to a matrix. */
#include "onnx/ops.h"

static status along(call *c, graph_op op, error *err)
{
    graph_val x;
    int32_t axis;
    TRY(call_value(c, 0, &x, err));
    graph_shape shape = call_shape_of(c, x);
    TRY(call_axis(call_int(c, "axis"), shape.rank, &axis, err));
    if (c->version >= 13 || axis == shape.rank - 1)
        return call_finish(c, op, &x, 1, &(axis_attr){.axis = axis}, err);
    TRY(call_emit(c, OP_FLATTEN, &x, 1, &(axis_attr){.axis = axis}, &x, err));
    TRY(call_emit(c, op, &x, 1, &(axis_attr){.axis = 1}, &x, err));
    return call_finish(c, OP_RESHAPE, &x, 1, &(shape_attr){.shape = shape}, err);
}

status onnx_op_softmax(call *c, error *err)
{
    return along(c, OP_SOFTMAX, err);
}

status onnx_op_log_softmax(call *c, error *err)
{
    return along(c, OP_LOG_SOFTMAX, err);
}
