/* Choices between operands: Where, and the gradients that follow one. */
#include "backend/binary_math.h"
#include "backend/cpu/broadcast.h"
#include "common/base/simd.h"
#include "graph/op_by_name.h"

BROADCAST_3(loop_where_1, uint8_t, uint8_t, a ? b : c)
BROADCAST_3(loop_where_8, uint8_t, uint64_t, a ? b : c)
SIMD_CLONES BROADCAST_3(loop_where_4, uint8_t, uint32_t, a ? b : c)
#define CHOICE(name, expression)                                                                   \
    SIMD_CLONES BROADCAST_3(loop_##name, float, float, expression)
#include "backend/binary_math.def"

static const broadcast_loop choices[OP_COUNT] = {
#define CHOICE(name, expression) [OP_OF_##name] = loop_##name,
#include "backend/binary_math.def"
};

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

status cpu_plan_where(cpu_node *n)
{
    dtype t = node_out(n, 0)->dtype;
    broadcast_loop choice = choices[n->node->op], loop = choice ? choice : where_of(t);
    if (!loop)
        return FAIL(n->err, E_UNSUPPORTED, "a choice of %s", dtype_name(t));
    return broadcast_plan(n, loop);
}
