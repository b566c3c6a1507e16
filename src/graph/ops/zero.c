/* Zero: f32 zeros of a given shape. */
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    (void)g;
    (void)err;
    ret_shape[0] = ((const shape_attr *)n->attr)->shape;
    ret_dtype[0] = DT_F32;
    return OK;
}

GRAPH_OP(ZERO, zero, "Zero", ATTRIBUTES(shape_attr, rule_shape_fields), .infer = infer);
