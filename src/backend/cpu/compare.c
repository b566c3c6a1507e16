/* What makes booleans (bytes of 0 and 1): comparisons, logic, and questions about floats. */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"
#include "common/base/simd.h"

/* clang-format off */
#define COMPARISON(name, expression)                                                               \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, uint8_t, expression)                         \
    BROADCAST_2(loop_##name##_i64, int64_t, uint8_t, expression)                                   \
    BROADCAST_2(loop_##name##_i32, int32_t, uint8_t, expression)                                   \
    BROADCAST_2(loop_##name##_u8, uint8_t, uint8_t, expression)
#define LOGIC(name, expression) BROADCAST_2(loop_##name, uint8_t, uint8_t, expression)
#define QUESTION(name, in_type, expression) BROADCAST_1(loop_##name, in_type, uint8_t, expression)
#include "backend/binary_math.def"
/* clang-format on */

static broadcast_loop comparison_of(graph_op op, dtype t)
{
#define TYPED(ID, name)                                                                            \
    case OP_##ID:                                                                                  \
        return t == DT_F32   ? loop_##name##_f32                                                   \
               : t == DT_I64 ? loop_##name##_i64                                                   \
               : t == DT_I32 ? loop_##name##_i32                                                   \
                             : loop_##name##_u8;
    switch (op) {
        TYPED(EQUAL, equal)
        TYPED(LESS, less)
        TYPED(LESS_OR_EQUAL, less_or_equal)
        TYPED(GREATER, greater)
        TYPED(GREATER_OR_EQUAL, greater_or_equal)
    default:
        return NULL;
    }
#undef TYPED
}

static broadcast_loop question_of(const graph_node *n)
{
    const is_inf_attr *a = n->attr;
    switch (n->op) {
    case OP_AND:
        return loop_and;
    case OP_OR:
        return loop_or;
    case OP_XOR:
        return loop_xor;
    case OP_NOT:
        return loop_not;
    case OP_IS_NAN:
        return loop_is_nan;
    case OP_IS_INF:
        if (a->only_positive)
            return a->only_negative ? loop_never : loop_is_plus_inf;
        return a->only_negative ? loop_is_minus_inf : loop_is_inf;
    default:
        return NULL;
    }
}

status cpu_plan_compare(backend_program *p, cpu_node *n, error *err)
{
    dtype t = node_in(n, 0)->dtype;
    if (dtype_is_half(t) || t == DT_F64)
        return FAIL(err, E_UNSUPPORTED, "comparisons of %s", dtype_name(t));
    broadcast_loop loop = comparison_of(n->node->op, t);
    return broadcast_plan(p, n, loop ? loop : question_of(n->node), err);
}
