/* The operators by number. A row without its struct does not link. */
#include "graph/graph.h"
#include "graph/ops/rule.h"

/* Whoever adds an operator of forward decides it. */
#define OP(ID, name, fewest, most, outputs, traits, ...)                                           \
    _Static_assert((traits) & OP_BACKWARD || !((traits) & OP_TOTAL) != !((traits) & OP_PARTIAL),   \
                   #ID " must be OP_TOTAL or OP_PARTIAL");
#include "graph/ops.def"

static const graph_op_info *const table[OP_COUNT] = {
#define OP(ID, name, ...) [OP_##ID] = &graph_op_##name,
#include "graph/ops.def"
};

const graph_op_info *graph_op_of(graph_op op)
{
    BUG_ON((unsigned)op >= OP_COUNT);
    return table[op];
}
