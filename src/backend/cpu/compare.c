/* What makes booleans (bytes of 0 and 1): comparisons, logic, and questions about floats. */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"
#include "common/base/simd.h"
#include "graph/op_by_name.h"

#define COMPARISON(name, expression)                                                               \
    SIMD_CLONES BROADCAST_2(loop_##name##_f32, float, uint8_t, expression)                         \
    BROADCAST_2(loop_##name##_i64, int64_t, uint8_t, expression)                                   \
    BROADCAST_2(loop_##name##_i32, int32_t, uint8_t, expression)                                   \
    BROADCAST_2(loop_##name##_u8, uint8_t, uint8_t, expression)
#define LOGIC(name, expression) BROADCAST_2(loop_##name, uint8_t, uint8_t, expression)
#define QUESTION(name, in_type, expression) BROADCAST_1(loop_##name, in_type, uint8_t, expression)
#include "backend/binary_math.def"

static const typed_loops loops[OP_COUNT] = {
#define COMPARISON(name, expression)                                                               \
    [OP_OF_##name] = {loop_##name##_f32, loop_##name##_i64, loop_##name##_i32, loop_##name##_u8},
#define LOGIC(name, expression) [OP_OF_##name].u8 = loop_##name,
#include "backend/binary_math.def"
};

static broadcast_loop question_of(const graph_node *n)
{
    const is_inf_attr *a = n->attr;
    if (n->op != OP_IS_INF)
        return n->op == OP_NOT ? loop_not : loop_is_nan;
    if (a->only_positive)
        return a->only_negative ? loop_never : loop_is_plus_inf;
    return a->only_negative ? loop_is_minus_inf : loop_is_inf;
}

status cpu_plan_compare(cpu_node *n)
{
    dtype t = node_in(n, 0)->dtype;
    if (dtype_is_half(t) || t == DT_F64)
        return FAIL(n->err, E_UNSUPPORTED, "comparisons of %s", dtype_name(t));
    if (n->node->n_in == 1)
        return broadcast_plan(n, question_of(n->node));
    return broadcast_plan(n, typed_loop(&loops[n->node->op], t == DT_BOOL ? DT_U8 : t));
}
