/* Arithmetic of two operands. */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"
#include "common/base/simd.h"
#include "graph/op_by_name.h"

#define FLOAT(name, expression)                                                                    \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, float, expression)
#define POWER(name, exponent, expression)                                                          \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, float, ((void)b, expression))
#define WHOLE(name, expression)                                                                    \
    BROADCAST_2(loop_##name##_i64, int64_t, int64_t, expression)                                   \
    BROADCAST_2(loop_##name##_i32, int32_t, int32_t, expression)                                   \
    BROADCAST_2(loop_##name##_u8, uint8_t, uint8_t, expression)
#include "backend/binary_math.def"

static const typed_loops loops[OP_COUNT] = {
#define FLOAT(name, expression) [OP_OF_##name].f32 = loop_##name##_f32,
#define WHOLE(name, expression)                                                                    \
    [OP_OF_##name].i64 = loop_##name##_i64, [OP_OF_##name].i32 = loop_##name##_i32,                \
    [OP_OF_##name].u8 = loop_##name##_u8,
#define WHOLE_FORM(name, expression)
#include "backend/binary_math.def"
};

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

status cpu_plan_binary(cpu_node *n)
{
    static const typed_loops fmod_loops = {loop_mod_f32, loop_fmod_i64, loop_fmod_i32,
                                           loop_fmod_u8};
    const graph_node *node = n->node;
    dtype t = node_out(n, 0)->dtype;
    bool truncates = node->op == OP_MOD && ((const mod_attr *)node->attr)->fmod;
    broadcast_loop loop = typed_loop(truncates ? &fmod_loops : &loops[node->op], t);
    broadcast_loop shorter = node->op == OP_POW ? power_of(node_in(n, 1)) : NULL;
    if (!loop)
        return FAIL(n->err, E_UNSUPPORTED, "arithmetic in %s", dtype_name(t));
    return broadcast_plan(n, shorter ? shorter : loop);
}
