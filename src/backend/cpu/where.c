/* Choices between operands: Where, and the gradients that follow one. */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"
#include "common/base/simd.h"

/* clang-format off */
BROADCAST_3(loop_where_1, uint8_t, uint8_t, a ? b : c)
BROADCAST_3(loop_where_8, uint8_t, uint64_t, a ? b : c)
SIMD_CLONES BROADCAST_3(loop_where_4, uint8_t, uint32_t, a ? b : c)
#define CHOICE(name, expression)                                                                   \
    SIMD_CLONES BROADCAST_3(loop_##name, float, float, expression)
#include "backend/binary_math.def"
    /* clang-format on */

    static broadcast_loop where_of(dtype t)
{
    switch (dtype_bytes(t)) {
    case 1:
        return loop_where_1;
    case 4:
        return loop_where_4;
    case 8:
        return loop_where_8;
    default:
        return NULL;
    }
}

status cpu_plan_where(backend_program *p, cpu_node *n, error *err)
{
    switch (n->node->op) {
    case OP_MAX_BWD:
        return broadcast_plan(p, n, loop_max_bwd, err);
    case OP_MIN_BWD:
        return broadcast_plan(p, n, loop_min_bwd, err);
    case OP_PRELU_BWD:
        return broadcast_plan(p, n, loop_prelu_bwd, err);
    case OP_SIGMOID_CROSS_ENTROPY_BWD:
        return broadcast_plan(p, n, loop_sigmoid_cross_entropy_bwd, err);
    default:
        break;
    }
    dtype t = node_out(n, 0)->dtype;
    broadcast_loop loop = where_of(t);
    if (!loop)
        return FAIL(err, E_UNSUPPORTED, "a choice of %s", dtype_name(t));
    return broadcast_plan(p, n, loop, err);
}
