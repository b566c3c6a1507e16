/* Choices between operands: Where, and the gradients that follow one. */
#include "backend/cpu/broadcast.h"
#include "backend/math.h"
#include "common/base/simd.h"

BROADCAST_3(loop_where_1, uint8_t, uint8_t, a ? b : c)
BROADCAST_3(loop_where_8, uint8_t, uint64_t, a ? b : c)
SIMD_CLONES BROADCAST_3(loop_where_4, uint8_t, uint32_t, a ? b : c)

    /* dy, a, b: the share of the gradient that a takes; half of it where both are the extreme */
    SIMD_CLONES
    BROADCAST_3(loop_max_bwd, float, float, b > c ? a : (b == c ? 0.5f * a : 0.0f)) SIMD_CLONES
    BROADCAST_3(loop_min_bwd, float, float, b < c ? a : (b == c ? 0.5f * a : 0.0f))
    /* dy, x, slope */
    SIMD_CLONES BROADCAST_3(loop_prelu_bwd, float, float, b > 0.0f ? a : a * c)
    /* dy, x, target */
    SIMD_CLONES BROADCAST_3(loop_sigmoid_cross_entropy_bwd, float, float, a *(vec_sigmoid(b) - c))

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

status plan_where(backend_program *p, cpu_node *n, error *err)
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
