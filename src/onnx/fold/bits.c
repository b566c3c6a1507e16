/* Folds of operators on the bits of integers. */
#include "onnx/fold/fold.h"

#include <inttypes.h>
#include <string.h>

typedef enum bit_op { BIT_AND, BIT_OR, BIT_XOR, SHIFT_LEFT, SHIFT_RIGHT } bit_op;

/* What the sign alone leaves, where a shift is by no number of the type's bits. */
static int64_t shifted(bit_op op, const onnx_element *e, int64_t a, int64_t by)
{
    if (by < 0 || by >= e->bits)
        return op == SHIFT_RIGHT && a < 0 ? -1 : 0;
    return op == SHIFT_RIGHT ? a >> by : (int64_t)((uint64_t)a << by);
}

static int64_t on_bits(bit_op op, const onnx_element *e, int64_t a, int64_t b)
{
    switch (op) {
    case BIT_AND:
        return a & b;
    case BIT_OR:
        return a | b;
    case BIT_XOR:
        return a ^ b;
    default:
        return shifted(op, e, a, b);
    }
}

static status integers(const host_tensor *x, error *err)
{
    return host_is_float(x) ? FAIL(err, E_DATA, "its inputs must be integers") : OK;
}

static status binary(call *c, bit_op op, error *err)
{
    const host_tensor *a, *b;
    host_tensor *y;
    graph_shape shape;
    TRY(onnx_fold_input(c, 0, &a, err));
    TRY(onnx_fold_input(c, 1, &b, err));
    TRY(integers(a, err));
    TRY(integers(b, err));
    TRY(onnx_fold_broadcast(&a->shape, &b->shape, &shape, err));
    TRY(onnx_fold_only_result(c, a->dtype, &shape, &y, err));
    for (int64_t i = 0; i < y->n; i++)
        host_set_int(y, i,
                     on_bits(op, call_element(c, 0),
                             host_get_int(a, host_broadcast_at(&a->shape, &shape, i)),
                             host_get_int(b, host_broadcast_at(&b->shape, &shape, i))));
    return OK;
}

status onnx_fold_bitwise_and(call *c, error *err)
{
    return binary(c, BIT_AND, err);
}

status onnx_fold_bitwise_or(call *c, error *err)
{
    return binary(c, BIT_OR, err);
}

status onnx_fold_bitwise_xor(call *c, error *err)
{
    return binary(c, BIT_XOR, err);
}

status onnx_fold_bit_shift(call *c, error *err)
{
    const char *way = call_str(c, "direction");
    if (strcmp(way, "LEFT") != 0 && strcmp(way, "RIGHT") != 0)
        return FAIL(err, E_DATA, "its direction is '%s'; there are LEFT and RIGHT", way);
    return binary(c, *way == 'L' ? SHIFT_LEFT : SHIFT_RIGHT, err);
}

status onnx_fold_bitwise_not(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    TRY(onnx_fold_input(c, 0, &x, err));
    TRY(integers(x, err));
    TRY(onnx_fold_only_result(c, x->dtype, &x->shape, &y, err));
    for (int64_t i = 0; i < y->n; i++)
        host_set_int(y, i, ~host_get_int(x, i));
    return OK;
}

/* An element's own bits; of floats only those that lie so in memory here. */
static uint64_t bits_of(const onnx_element *e, const host_tensor *x, int64_t i)
{
    uint64_t bits = 0;
    if (e->kind == ELEMENT_INTEGER)
        bits = (uint64_t)host_get_int(x, i);
    else
        memcpy(&bits, (const char *)x->data + (size_t)i * dtype_bytes(x->dtype),
               dtype_bytes(x->dtype));
    return e->bits == 64 ? bits : bits & (((uint64_t)1 << e->bits) - 1);
}

static void set_bits(const onnx_element *e, host_tensor *y, int64_t i, uint64_t bits)
{
    if (e->kind == ELEMENT_INTEGER)
        host_set_int(y, i, element_wrap(e, (int64_t)bits));
    else
        memcpy((char *)y->data + (size_t)i * dtype_bytes(y->dtype), &bits, dtype_bytes(y->dtype));
}

static bool has_bits(const onnx_element *e)
{
    return e->kind == ELEMENT_INTEGER || (e->kind == ELEMENT_FLOAT && e->bits >= 32);
}

status onnx_fold_bit_cast(call *c, error *err)
{
    const host_tensor *x;
    host_tensor *y;
    int32_t number = call_int32(c, "to");
    TRY(onnx_fold_input(c, 0, &x, err));
    const onnx_element *from = call_element(c, 0), *to = element_of(number);
    if (!to || !has_bits(to) || !has_bits(from))
        return call_refuse(err, "it makes %s of %s", host_onnx_type_name(number), from->name);
    if (from->bits != to->bits)
        return FAIL(err, E_DATA, "%s and %s have not the same number of bits", from->name,
                    to->name);
    TRY(onnx_fold_only_result(c, to->ours, &x->shape, &y, err));
    for (int64_t i = 0; i < y->n; i++)
        set_bits(to, y, i, bits_of(from, x, i));
    call_type(c, 0, to->onnx);
    return OK;
}
