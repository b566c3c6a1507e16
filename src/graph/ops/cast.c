/* Cast to another element type. Only from float32 to itself does a gradient pass. */
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    dtype to = ((const cast_attr *)n->attr)->to;
    if (to >= DTYPE_COUNT)
        return rule_fail(n, err, "%d is no element type", (int)to);
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = to;
    return OK;
}

GRAPH_OP(CAST, cast, "Cast", .attr_bytes = sizeof(cast_attr), .infer = infer,
         .grad = rule_grad_passes);
