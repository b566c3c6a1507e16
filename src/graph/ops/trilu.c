/* Trilu: the triangle of the last two axes above or below diagonal k, zeros elsewhere. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* k is an input in ONNX. */
static const attr_field fields[] = {
    ATTR_OURS(trilu_attr, k, ATTR_INT, 0),
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

GRAPH_OP(TRILU, trilu, "Trilu", ATTRIBUTES(trilu_attr, fields), .infer = infer,
         BACKWARD(TRILU, DY(0)));
