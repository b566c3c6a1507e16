#include "onnx/element.h"

#include "common/base/alloc.h"

#include <math.h>
#include <string.h>

#define INTEGER(number, name, bits, holds, is_signed)                                              \
    {number, name, bits, ELEMENT_INTEGER, holds, is_signed, 0, 0, 0.0, false}
#define FLOATING(number, name, bits, holds, mantissa, least, most, has_infinity)                   \
    {number, name, bits, ELEMENT_FLOAT, holds, true, mantissa, least, most, has_infinity}
#define NONE(number, name, bits)                                                                   \
    {number, name, bits, ELEMENT_NONE, DT_F32, false, 0, 0, 0.0, false}

static const onnx_element elements[] = {
    FLOATING(1, "float32", 32, DT_F32, 23, -126, 0x1.fffffep127, true),
    INTEGER(2, "uint8", 8, DT_U8, false),
    INTEGER(3, "int8", 8, DT_I32, true),
    INTEGER(4, "uint16", 16, DT_I32, false),
    INTEGER(5, "int16", 16, DT_I32, true),
    INTEGER(6, "int32", 32, DT_I32, true),
    INTEGER(7, "int64", 64, DT_I64, true),
    NONE(8, "string", 0),
    INTEGER(9, "bool", 8, DT_BOOL, false),
    FLOATING(10, "float16", 16, DT_F32, 10, -14, 65504.0, true),
    FLOATING(11, "float64", 64, DT_F64, 52, -1022, 0x1.fffffffffffffp1023, true),
    INTEGER(12, "uint32", 32, DT_I64, false),
    INTEGER(13, "uint64", 64, DT_I64, false),
    NONE(14, "complex64", 64),
    NONE(15, "complex128", 128),
    FLOATING(16, "bfloat16", 16, DT_F32, 7, -126, 0x1.fep127, true),
    FLOATING(17, "float8e4m3fn", 8, DT_F32, 3, -6, 448.0, false),
    FLOATING(18, "float8e4m3fnuz", 8, DT_F32, 3, -7, 240.0, false),
    FLOATING(19, "float8e5m2", 8, DT_F32, 2, -14, 57344.0, true),
    FLOATING(20, "float8e5m2fnuz", 8, DT_F32, 2, -15, 57344.0, false),
    INTEGER(21, "uint4", 4, DT_I32, false),
    INTEGER(22, "int4", 4, DT_I32, true),
    FLOATING(23, "float4e2m1", 4, DT_F32, 1, 0, 6.0, false),
    FLOATING(24, "float8e8m0", 8, DT_F32, -1, -127, 0x1p127, false),
    INTEGER(25, "uint2", 2, DT_I32, false),
    INTEGER(26, "int2", 2, DT_I32, true),
    NONE(27, "float6e2m3", 6),
    NONE(28, "float6e3m2", 6),
};

const onnx_element *element_of(int32_t onnx)
{
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        if (elements[i].onnx == onnx)
            return &elements[i];
    return NULL;
}

const onnx_element *element_named(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        if (strcmp(elements[i].name, name) == 0)
            return &elements[i];
    return NULL;
}

const onnx_element *element_of_dtype(dtype t)
{
    static const int32_t numbers[] = {[DT_F32] = ONNX_FLOAT32, [DT_I64] = ONNX_INT64,
                                      [DT_I32] = ONNX_INT32,   [DT_U8] = ONNX_UINT8,
                                      [DT_BOOL] = ONNX_BOOL,   [DT_F64] = ONNX_FLOAT64};
    BUG_ON((size_t)t >= COUNT_OF(numbers) || numbers[t] == 0);
    return element_of(numbers[t]);
}

bool element_is_narrow_integer(const onnx_element *e)
{
    return e->kind == ELEMENT_INTEGER && e->ours != DT_BOOL &&
           (size_t)e->bits < 8 * dtype_bytes(e->ours);
}

int64_t element_wrap(const onnx_element *e, int64_t value)
{
    if (e->ours == DT_BOOL)
        return value != 0;
    unsigned free_bits = 64 - (unsigned)e->bits;
    uint64_t high = (uint64_t)value << free_bits;
    return e->is_signed ? (int64_t)high >> free_bits : (int64_t)(high >> free_bits);
}

/* 2^n, exactly. */
static double power_of_2(int n)
{
    double y = 1.0;
    for (; n > 0; n--)
        y *= 2.0;
    for (; n < 0; n++)
        y *= 0.5;
    return y;
}

/* Which power of two a positive number begins with. */
static int exponent_of(double x)
{
    int n;
    (void)frexp(x, &n);
    return n - 1;
}

/* An exponent alone, rounded up. */
static double power_above(double x)
{
    double y = power_of_2(exponent_of(x));
    return y < x ? 2.0 * y : y;
}

double element_round(const onnx_element *e, double value, bool saturate)
{
    double size = fabs(value), y;
    bool has_nan = e->bits > 4; /* what has none takes -0 for it, as ONNX's own code does */
    if (e->kind != ELEMENT_FLOAT || e->bits == 64 || isnan(value))
        return isnan(value) && !has_nan ? -0.0 : value;
    if (isinf(value))
        y = size;
    else if (e->mantissa < 0)
        y = size == 0.0 ? 0.0 : power_above(size);
    else {
        int exponent = size == 0.0 ? e->least : exponent_of(size);
        double step = power_of_2((exponent < e->least ? e->least : exponent) - e->mantissa);
        y = nearbyint(size / step) * step;
    }
    if (y > e->most)
        y = saturate ? e->most : e->has_infinity ? (double)INFINITY : (double)NAN;
    return e->mantissa < 0 ? y : copysign(y, value);
}

/* A code without bits for a sign or infinities of its own is told by the table's row. */
static double decode_small(const onnx_element *e, uint64_t bits)
{
    uint64_t sign_bit = (uint64_t)1 << (e->bits - 1), body = bits & (sign_bit - 1);
    uint64_t fraction = body & (((uint64_t)1 << e->mantissa) - 1), top = sign_bit - 1;
    int exponent = (int)(body >> e->mantissa);
    bool is_fnuz = e->onnx == 18 || e->onnx == 20;
    if (is_fnuz ? bits == sign_bit : e->onnx == 17 && body == top)
        return (double)NAN;
    if (e->has_infinity && body >> e->mantissa == top >> e->mantissa)
        return fraction ? (double)NAN : bits & sign_bit ? -(double)INFINITY : (double)INFINITY;
    double scale = power_of_2((exponent ? exponent - 1 : 0) + e->least - e->mantissa);
    double size = (double)(fraction | (exponent ? (uint64_t)1 << e->mantissa : 0)) * scale;
    return bits & sign_bit ? -size : size;
}

double element_decode(const onnx_element *e, uint64_t bits)
{
    if (e->kind == ELEMENT_INTEGER)
        return (double)element_wrap(e, (int64_t)bits);
    if (e->mantissa < 0)
        return bits == 0xff ? (double)NAN : power_of_2((int)bits + e->least);
    return decode_small(e, bits);
}
