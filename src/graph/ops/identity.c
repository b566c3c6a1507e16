/* Identity: a copy. Its gradient passes through untouched. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    (void)err;
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(IDENTITY, identity, "Identity", .infer = infer, .grad = emit_same);
