/* SumTo: sums over every axis along which the asked shape was broadcast to the input's. */
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    const graph_shape *asked = &((const shape_attr *)n->attr)->shape;
    TRY(rule_float(g, n, 0, err));
    if (!rule_broadcasts_to(asked, x))
        return rule_fail(n, err, "the shape %s does not broadcast to the input %s", SHAPE(asked),
                         SHAPE(x));
    ret_shape[0] = *asked;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

GRAPH_OP(SUM_TO, sum_to, "SumTo", ATTRIBUTES(shape_attr, rule_shape_fields), .infer = infer);
