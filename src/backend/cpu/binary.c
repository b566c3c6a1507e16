/* Arithmetic of two operands. */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"
#include "common/base/alloc.h"
#include "common/base/simd.h"

/* clang-format off */
#define FLOAT(name, expression)                                                                    \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, float, expression)
#define POWER(name, exponent, expression)                                                          \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, float, ((void)b, expression))
#define WHOLE(name, expression)                                                                    \
    BROADCAST_2(loop_##name##_i64, int64_t, int64_t, expression)                                   \
    BROADCAST_2(loop_##name##_i32, int32_t, int32_t, expression)                                   \
    BROADCAST_2(loop_##name##_u8, uint8_t, uint8_t, expression)
#include "backend/binary_math.def"
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
    if (exponent->kind != VAL_CONST || graph_shape_elements(&exponent->shape) != 1)
        return NULL;
    float number = *(const float *)exponent->data;
#define POWER(name, known, expression)                                                             \
    if (number == (known))                                                                         \
        return loop_##name##_f32;
#include "backend/binary_math.def"
    return NULL;
}

status cpu_plan_binary(backend_program *p, cpu_node *n, error *err)
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
