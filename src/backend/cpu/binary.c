/*
 * Arithmetic of two operands. Whole numbers wrap around; what is divided by zero gives zero, for a
 * batch that brings a zero must not end the process.
 */
#include "backend/cpu/broadcast.h"
#include "backend/math.h"
#include "backend/wide.h"
#include "common/base/alloc.h"
#include "common/base/simd.h"

#define FLOATS(name, expression)                                                                   \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, float, expression)

#define WHOLES(name, expression)                                                                   \
    BROADCAST_2(loop_##name##_i64, int64_t, int64_t, expression)                                   \
    BROADCAST_2(loop_##name##_i32, int32_t, int32_t, expression)                                   \
    BROADCAST_2(loop_##name##_u8, uint8_t, uint8_t, expression)

/* In 64 bits, and without a sign where it could overflow; what is narrower takes the low bits. */
INLINE int64_t whole_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

INLINE int64_t whole_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

INLINE int64_t whole_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Rounded towards zero. */
INLINE int64_t whole_quotient(int64_t a, int64_t b)
{
    if (b == -1)
        return whole_difference(0, a);
    return b == 0 ? 0 : a / b;
}

/* With the sign of a, as C has it. */
INLINE int64_t whole_rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* With the sign of b, as Python has it. */
INLINE int64_t whole_modulo(int64_t a, int64_t b)
{
    int64_t r = whole_rest(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* C's fmod: a quotient below 2^29 leaves an exact rest; a larger one is taken off in parts. */
INLINE float float_rest(float a, float b)
{
    double r = wide_abs((double)a), by = wide_abs((double)b);
    if (!(by > 0.0) || !(r < __builtin_inf()))
        return __builtin_nanf("");
    while (r >= by) {
        double part = by;
        while (r / part >= 0x1p29)
            part *= 0x1p29;
        r -= (double)(int64_t)(r / part) * part;
        r = r < 0.0 ? r + part : r;
    }
    return (float)wide_with_sign(r, (double)a);
}

/* ln(1 + e^x) - t x, without e^x of anything positive */
INLINE float cross_entropy(float x, float t)
{
    float positive = x > 0.0f ? x : 0.0f;
    return (positive - x * t) + vec_log1p(vec_exp(-vec_abs(x)));
}

/* clang-format off */
FLOATS(add, a + b)
FLOATS(sub, a - b)
FLOATS(mul, a * b)
FLOATS(div, a / b)
FLOATS(min, a < b || a != a ? a : b)
FLOATS(max, a > b || a != a ? a : b)
FLOATS(pow, wide_pow(a, b))
FLOATS(prelu, a > 0.0f ? a : a * b)
FLOATS(sigmoid_cross_entropy, cross_entropy(a, b))
BROADCAST_2(loop_mod_f32, float, float, float_rest(a, b))
WHOLES(add, whole_sum(a, b))
WHOLES(sub, whole_difference(a, b))
WHOLES(mul, whole_product(a, b))
WHOLES(div, whole_quotient(a, b))
WHOLES(min, a < b ? a : b)
WHOLES(max, a > b ? a : b)
WHOLES(mod, whole_modulo(a, b))
WHOLES(fmod, whole_rest(a, b))

/* powers without a logarithm */
FLOATS(square, ((void)b, a * a))
FLOATS(cube, ((void)b, a * a * a))
FLOATS(root, ((void)b, __builtin_sqrtf(a)))
FLOATS(inverse, ((void)b, 1.0f / a))
FLOATS(inverse_root, ((void)b, 1.0f / __builtin_sqrtf(a)))
/* clang-format on */

/* By type; NULL where there is none. */
typedef struct typed_loops {
    broadcast_loop f32, i64, i32, u8;
} typed_loops;

#define ALL(name)                                                                                  \
    {                                                                                              \
        loop_##name##_f32, loop_##name##_i64, loop_##name##_i32, loop_##name##_u8                  \
    }

static const typed_loops loops[OP_COUNT] = {
    [OP_ADD] = ALL(add),
    [OP_SUB] = ALL(sub),
    [OP_MUL] = ALL(mul),
    [OP_DIV] = ALL(div),
    [OP_MIN] = ALL(min),
    [OP_MAX] = ALL(max),
    [OP_MOD] = ALL(mod),
    [OP_POW] = {.f32 = loop_pow_f32},
    [OP_PRELU] = {.f32 = loop_prelu_f32},
    [OP_SIGMOID_CROSS_ENTROPY] = {.f32 = loop_sigmoid_cross_entropy_f32},
};

static broadcast_loop loop_for(const typed_loops *l, dtype t)
{
    switch (t) {
    case DT_F32:
        return l->f32;
    case DT_I64:
        return l->i64;
    case DT_I32:
        return l->i32;
    case DT_U8:
        return l->u8;
    default:
        return NULL;
    }
}

/* The power of one known exponent, or NULL: there is no shorter way. */
static broadcast_loop power_of(const graph_value *exponent)
{
    static const struct {
        float exponent;
        broadcast_loop loop;
    } powers[] = {
        {2.0f, loop_square_f32},   {3.0f, loop_cube_f32},          {0.5f, loop_root_f32},
        {-1.0f, loop_inverse_f32}, {-0.5f, loop_inverse_root_f32},
    };
    if (exponent->kind != VAL_CONST || graph_shape_elements(&exponent->shape) != 1)
        return NULL;
    for (size_t i = 0; i < COUNT_OF(powers); i++)
        if (*(const float *)exponent->data == powers[i].exponent)
            return powers[i].loop;
    return NULL;
}

status plan_binary(backend_program *p, cpu_node *n, error *err)
{
    static const typed_loops fmod_loops = {loop_mod_f32, loop_fmod_i64, loop_fmod_i32,
                                           loop_fmod_u8};
    const graph_node *node = n->node;
    dtype t = node_out(n, 0)->dtype;
    bool truncates = node->op == OP_MOD && ((const mod_attr *)node->attr)->fmod;
    broadcast_loop loop = loop_for(truncates ? &fmod_loops : &loops[node->op], t);
    broadcast_loop shorter = node->op == OP_POW ? power_of(node_in(n, 1)) : NULL;
    if (!loop)
        return FAIL(err, E_UNSUPPORTED, "arithmetic in %s", dtype_name(t));
    return broadcast_plan(p, n, shorter ? shorter : loop, err);
}
