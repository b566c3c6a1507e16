/* Operators that work element by element. */
#include "onnx/ops.h"

/* Before opset 7 a slope with one axis was one number a channel. */
status onnx_op_prelu(call *c, error *err)
{
    graph_val in[2];
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    graph_shape slope = call_shape_of(c, in[1]);
    if (c->version < 7 && slope.rank == 1) {
        while (slope.rank < call_shape_of(c, in[0]).rank - 1)
            slope.dim[slope.rank++] = 1;
        TRY(call_emit(c, OP_RESHAPE, &in[1], 1, &(shape_attr){.shape = slope}, &in[1], err));
    }
    return call_finish(c, OP_PRELU, in, 2, NULL, err);
}

/* Of two operands of one shape; nothing is broadcast. */
status onnx_op_swiglu(call *c, error *err)
{
    graph_val in[2];
    unary_attr attr = {.alpha = (float)call_float(c, "alpha")};
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    graph_shape a = call_shape_of(c, in[0]), b = call_shape_of(c, in[1]);
    if (!graph_shape_equal(&a, &b))
        return FAIL(err, E_DATA, "its two inputs are of different shapes");
    TRY(call_emit(c, OP_SWISH, in, 1, &attr, &in[0], err));
    return call_finish(c, OP_MUL, in, 2, NULL, err);
}

static status power(call *c, graph_val x, int32_t n, error *err)
{
    graph_val y = x;
    for (; n > 2; n--)
        TRY(call_emit(c, OP_MUL, (graph_val[]){y, x}, 2, NULL, &y, err));
    return call_finish(c, OP_MUL, (graph_val[]){y, x}, 2, NULL, err);
}

static status as_float(call *c, graph_val *v, error *err)
{
    if (call_at(c, *v)->dtype == DT_F32)
        return OK;
    return call_emit(c, OP_CAST, v, 1, &(cast_attr){.to = DT_F32}, v, err);
}

/* Of the type of the base, whatever the exponent's is. */
static status power_of_any(call *c, error *err)
{
    graph_val in[2];
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    TRY(call_align_operands(c, in, err));
    dtype type = call_at(c, in[0])->dtype;
    TRY(as_float(c, &in[0], err));
    TRY(as_float(c, &in[1], err));
    if (type == DT_F32)
        return call_finish(c, OP_POW, in, 2, NULL, err);
    TRY(call_emit(c, OP_POW, in, 2, NULL, &in[0], err));
    return call_finish(c, OP_CAST, in, 1, &(cast_attr){.to = type}, err);
}

/* Constant exponents that are small and whole are products. */
status onnx_op_pow(call *c, error *err)
{
    const host_tensor *known = NULL;
    graph_val x;
    if (call_has(c, 1))
        TRY(slot_known(c->im, c->in[1], &known, err));
    TRY(call_value(c, 0, &x, err));
    if (!known || known->n != 1 || call_at(c, x)->dtype != DT_F32 ||
        known->shape.rank > call_at(c, x)->shape.rank) /* which gives the base axes */
        return power_of_any(c, err);
    double exponent = host_get(known, 0);
    if (exponent == 2.0 || exponent == 3.0 || exponent == 4.0)
        return power(c, x, (int32_t)exponent, err);
    if (exponent == 0.5)
        return call_finish(c, OP_SQRT, &x, 1, NULL, err);
    if (exponent == -1.0)
        return call_finish(c, OP_RECIPROCAL, &x, 1, NULL, err);
    if (exponent != 1.0)
        return power_of_any(c, err);
    call_return(c, 0, x);
    return OK;
}
