/*
 * Cast. A float goes to the whole number towards zero, to the nearest there is if it is too large,
 * to 0 if it is no number; anything but 0 is true. And the rounding of factors (factor.h).
 */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"

#define FROM_WHOLE(name, from)                                                                     \
    BROADCAST_1(name##_to_f32, from, float, a)                                                     \
    BROADCAST_1(name##_to_i64, from, int64_t, a)                                                   \
    BROADCAST_1(name##_to_i32, from, int32_t, a)                                                   \
    BROADCAST_1(name##_to_u8, from, uint8_t, a)                                                    \
    BROADCAST_1(name##_to_bool, from, uint8_t, a != 0)

FROM_WHOLE(i64, int64_t)
FROM_WHOLE(i32, int32_t)
FROM_WHOLE(u8, uint8_t)
BROADCAST_1(f32_to_f32, float, float, a)
BROADCAST_1(f32_to_i64, float, int64_t, whole_of(a, -0x1p63f, 0x1p63f, INT64_MAX))
BROADCAST_1(f32_to_i32, float, int32_t, whole_of(a, -0x1p31f, 0x1p31f, INT32_MAX))
BROADCAST_1(f32_to_u8, float, uint8_t, whole_of(a, 0.0f, 256.0f, UINT8_MAX))
BROADCAST_1(f32_to_bool, float, uint8_t, a != 0.0f)

#define TO(name)                                                                                   \
    {                                                                                              \
        [DT_F32] = name##_to_f32, [DT_I64] = name##_to_i64, [DT_I32] = name##_to_i32,              \
        [DT_U8] = name##_to_u8, [DT_BOOL] = name##_to_bool                                         \
    }

static const broadcast_loop loops[DTYPE_COUNT][DTYPE_COUNT] = {
    [DT_F32] = TO(f32), [DT_I64] = TO(i64), [DT_I32] = TO(i32),
    [DT_U8] = TO(u8),   [DT_BOOL] = TO(u8),
};

status cpu_plan_cast(cpu_node *n)
{
    dtype from = node_in(n, 0)->dtype, to = node_out(n, 0)->dtype;
    if (!loops[from][to])
        return FAIL(n->err, E_UNSUPPORTED, "a cast from %s to %s", dtype_name(from), dtype_name(to));
    return broadcast_plan(n, loops[from][to]);
}

static void run_to_half(const cpu_node *n, const cpu_call *c)
{
    const int64_t *elements = n->state;
    factor_round_by_team(c->out[0], c->in[0], *elements, factor_form_of(node_out(n, 0)->dtype));
}

status cpu_plan_to_half(cpu_node *n)
{
    int64_t *elements = node_runs(n, run_to_half, sizeof *elements);
    TRY(node_follow(n->program, n, 1, true, elements, n->err));
    return OK;
}
