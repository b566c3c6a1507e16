/* The operators by number. A row without its struct does not link. */
#include "graph/graph.h"
#include "graph/ops/rule.h"

static const graph_op_info *const table[OP_COUNT] = {
#define OP(ID, name, fewest, most, outputs, traits) [OP_##ID] = &graph_op_##name,
#include "graph/ops.def"
#undef OP
};

const graph_op_info *graph_op_of(graph_op op)
{
    BUG_ON((unsigned)op >= OP_COUNT);
    return table[op];
}

double graph_flops(const graph *g)
{
    double sum = 0;
    for (int32_t i = 0; i < graph_n_nodes(g); i++) {
        const graph_node *n = graph_node_at(g, i);
        if (graph_op_of(n->op)->flops)
            sum += graph_op_of(n->op)->flops(g, n);
    }
    return sum;
}
