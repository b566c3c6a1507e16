/* Expand: the input and the asked shape broadcast with each other, as in ONNX. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    graph_shape *asked = &((shape_attr *)n->attr)->shape;
    if (asked->rank < 0 || asked->rank > GRAPH_RANK)
        return rule_fail(n, err, "a shape has 0 to 8 axes, not %" PRId32, asked->rank);
    if (!rule_broadcast(x, asked, &ret_shape[0]))
        return rule_fail(n, err, "the input %s does not expand to %s", SHAPE(x), SHAPE(asked));
    *asked = ret_shape[0];
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_shape x = emit_shape_of(g, graph_node_at(g, node)->in[0]);
    return emit_sum_to(g, dout[0], &x, &ret_din[0], err);
}

GRAPH_OP(EXPAND, expand, "Expand", .attr_bytes = sizeof(shape_attr), .infer = infer, .grad = grad);
