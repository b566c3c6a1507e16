/* Zero: f32 zeros of a given shape. */
#include "graph/ops/rule.h"

#include <inttypes.h>

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *asked = &((const shape_attr *)n->attr)->shape;
    (void)g;
    if (asked->rank < 0 || asked->rank > GRAPH_RANK)
        return rule_fail(n, err, "a shape has 0 to 8 axes, not %" PRId32, asked->rank);
    ret_shape[0] = *asked;
    ret_dtype[0] = DT_F32;
    return OK;
}

GRAPH_OP(ZERO, zero, "Zero", .attr_bytes = sizeof(shape_attr), .infer = infer);
