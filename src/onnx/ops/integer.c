/*
 * Functions of one element that a graph has for floats alone, of integers and conditions: said by
 * operators that have these too, so nothing is rounded. Where an integer has no sign, uint8, what is
 * below zero does not come up. Floats take the operator of the same name.
 */
#include "onnx/ops.h"

#include <float.h>
#include <string.h>

/* A constant of one element. */
static status number(call *c, dtype t, int64_t value, graph_val *ret, error *err)
{
    host_tensor *h;
    TRY(host_create(c->im->a, t, &(graph_shape){.rank = 0}, &h, err));
    host_set_int(h, 0, value);
    return graph_const(c->im->g, NULL, t, h->shape, h->data, ret, err);
}

/* Input 0: true if it is of floats, and then the call is done. */
static status take_float(call *c, graph_op op, graph_val *ret_x, bool *ret_done, error *err)
{
    TRY(call_value(c, 0, ret_x, err));
    dtype t = call_at(c, *ret_x)->dtype;
    *ret_done = t == DT_F32;
    return *ret_done ? call_finish(c, op, ret_x, 1, NULL, err) : OK;
}

status onnx_op_neg(call *c, error *err)
{
    graph_val in[2];
    bool done;
    TRY(take_float(c, OP_NEG, &in[1], &done, err));
    if (done)
        return OK;
    TRY(number(c, call_at(c, in[1])->dtype, 0, &in[0], err));
    return call_finish(c, OP_SUB, in, 2, NULL, err);
}

status onnx_op_abs(call *c, error *err)
{
    graph_val x, minus, nothing;
    bool done;
    TRY(take_float(c, OP_ABS, &x, &done, err));
    if (done)
        return OK;
    if (call_at(c, x)->dtype == DT_U8)
        return call_return_input(c, 0, 0, err);
    TRY(number(c, call_at(c, x)->dtype, 0, &nothing, err));
    TRY(call_emit(c, OP_SUB, (graph_val[]){nothing, x}, 2, NULL, &minus, err));
    return call_finish(c, OP_MAX, (graph_val[]){x, minus}, 2, NULL, err);
}

/* Whether x is above (below) zero, as numbers of its type. */
static status beyond(call *c, graph_op op, graph_val x, graph_val nothing, graph_val *ret,
                     error *err)
{
    cast_attr attr = {.to = call_at(c, x)->dtype};
    TRY(call_emit(c, op, (graph_val[]){x, nothing}, 2, NULL, ret, err));
    return call_emit(c, OP_CAST, ret, 1, &attr, ret, err);
}

status onnx_op_sign(call *c, error *err)
{
    graph_val x, nothing, in[2];
    bool done;
    TRY(take_float(c, OP_SIGN, &x, &done, err));
    if (done)
        return OK;
    TRY(number(c, call_at(c, x)->dtype, 0, &nothing, err));
    TRY(beyond(c, OP_GREATER, x, nothing, &in[0], err));
    TRY(beyond(c, OP_LESS, x, nothing, &in[1], err));
    return call_finish(c, OP_SUB, in, 2, NULL, err);
}

status onnx_op_relu(call *c, error *err)
{
    graph_val in[2];
    bool done;
    TRY(take_float(c, OP_RELU, &in[0], &done, err));
    if (done)
        return OK;
    TRY(number(c, call_at(c, in[0])->dtype, 0, &in[1], err));
    return call_finish(c, OP_MAX, in, 2, NULL, err);
}

/* The bounds of a Clip of floats, where they are known. */
static status float_bounds(call *c, double *low, double *high, bool *ret_known, error *err)
{
    *low = -(double)FLT_MAX;
    *high = FLT_MAX;
    *ret_known = true;
    if (c->version < 11) {
        *low = call_float(c, "min");
        *high = call_float(c, "max");
        return OK;
    }
    for (int32_t i = 1; i < 3; i++) {
        const host_tensor *known = NULL;
        if (call_has(c, i))
            TRY(slot_known(c->im, c->in[i], &known, err));
        *ret_known = *ret_known && (known || !call_has(c, i));
    }
    if (!*ret_known)
        return OK;
    TRY(call_known_number(c, 1, *low, low, err));
    return call_known_number(c, 2, *high, high, err);
}

/* Integers, and bounds that are computed: the upper bound has the last word, as ONNX has it. */
status onnx_op_clip(call *c, error *err)
{
    static const graph_op ops[] = {OP_MAX, OP_MIN};
    graph_val x, bound;
    bool known;
    double low, high;
    TRY(call_value(c, 0, &x, err));
    TRY(float_bounds(c, &low, &high, &known, err));
    if (call_at(c, x)->dtype == DT_F32 && known)
        return call_finish(c, OP_CLIP, &x, 1,
                           &(unary_attr){.alpha = (float)low, .beta = (float)high}, err);
    for (int32_t i = 0; i < 2; i++) {
        if (!call_has(c, i + 1))
            continue;
        TRY(call_value(c, i + 1, &bound, err));
        TRY(call_emit(c, ops[i], (graph_val[]){x, bound}, 2, NULL, &x, err));
    }
    call_return(c, 0, x);
    return OK;
}
