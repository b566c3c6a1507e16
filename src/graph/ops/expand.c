/* Expand: the input and the asked shape broadcast with each other, as in ONNX. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    graph_shape *asked = &((shape_attr *)n->attr)->shape;
    if (!rule_broadcast(x, asked, &ret_shape[0]))
        return rule_fail(n, err, "the input %s does not expand to %s", SHAPE(x), SHAPE(asked));
    *asked = ret_shape[0];
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    return emit_to_input(d, 0, d->dy[0], err);
}

GRAPH_OP(EXPAND, expand, "Expand", ATTRIBUTES(shape_attr, rule_shape_fields), .infer = infer, .grad = grad);
