/* Operators that work element by element. */
#include "onnx/ops.h"

#include <string.h>

/* Before opset 7 shapes did not broadcast by numpy's rule unless an attribute said how. */
static status binary(call *c, graph_op op, error *err)
{
    graph_val in[2];
    if (c->version < 7 && call_int(c, "broadcast", 0))
        return call_refuse(err, "broadcasting as in opsets below 7 is not supported");
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    return call_finish(c, op, in, 2, NULL, err);
}

#define BINARY(name, op)                                                                           \
    status name(call *c, error *err)                                                               \
    {                                                                                              \
        return binary(c, op, err);                                                                 \
    }
BINARY(onnx_op_add, OP_ADD)
BINARY(onnx_op_sub, OP_SUB)
BINARY(onnx_op_mul, OP_MUL)
BINARY(onnx_op_div, OP_DIV)

#define UNARY(name, op)                                                                            \
    status name(call *c, error *err)                                                               \
    {                                                                                              \
        return call_unary(c, op, NULL, err);                                                       \
    }
UNARY(onnx_op_relu, OP_RELU)
UNARY(onnx_op_sigmoid, OP_SIGMOID)
UNARY(onnx_op_tanh, OP_TANH)

status onnx_op_gelu(call *c, error *err)
{
    gelu_attr attr = {.tanh = strcmp(call_str(c, "approximate", "none"), "tanh") == 0};
    return call_unary(c, OP_GELU, &attr, err);
}

status onnx_op_cast(call *c, error *err)
{
    graph_val x;
    dtype to;
    int32_t number = (int32_t)call_int(c, "to", 0);
    if (!host_dtype_of_onnx(number, &to))
        return call_refuse(err, "it casts to %s", host_onnx_type_name(number));
    TRY(call_value(c, 0, &x, err));
    if (call_at(c, x)->dtype != to)
        return call_refuse(err, "it casts %s to %s", dtype_name(call_at(c, x)->dtype),
                           dtype_name(to));
    call_return(c, 0, x);
    return OK;
}
