/* Random: numbers that the seed, the batch's number and a stream decide. Nothing flows back. */
#include "graph/ops/rule.h"

#include <inttypes.h>

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const random_attr *a = n->attr;
    const graph_shape *id = rule_shape(g, n, 0);
    if (rule_type(g, n, 0) != DT_I64 || graph_shape_elements(id) != 1)
        return rule_fail(n, err, "the batch id is %s %s, must be one int64",
                         dtype_name(rule_type(g, n, 0)), SHAPE(id));
    if (a->shape.rank < 0 || a->shape.rank > GRAPH_RANK)
        return rule_fail(n, err, "a shape has 0 to 8 axes, not %" PRId32, a->shape.rank);
    ret_shape[0] = a->shape;
    ret_dtype[0] = DT_F32;
    return OK;
}

GRAPH_OP(RANDOM, random, "Random", .attr_bytes = sizeof(random_attr), .infer = infer);
