/* Trilu: the triangle of the last two axes above or below diagonal k, zeros elsewhere. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"
#include "graph/schema.h"

static const attr_field fields[] = {
    ATTR_FIELD(trilu_attr, upper, "upper", ATTR_BOOL, 1),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    if (x->rank < 2)
        return rule_fail(n, err, "the input %s must be a matrix or a batch of them", SHAPE(x));
    ret_shape[0] = *x;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    return emit_1(g, OP_TRILU, dout[0], graph_node_at(g, node)->attr, &ret_din[0], err);
}

GRAPH_OP(TRILU, trilu, "Trilu", ATTRIBUTES(trilu_attr, fields), .infer = infer, .grad = grad);
