/* Random: numbers that the seed, the batch's number and a stream decide. Nothing flows back. */
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_OURS(random_attr, shape, ATTR_SHAPE, 0),
    ATTR_CHOICE(random_attr, kind, "kind", "uniform normal", RANDOM_UNIFORM),
    ATTR_OURS(random_attr, shift, ATTR_FLOAT, 0),
    ATTR_OURS(random_attr, scale, ATTR_FLOAT, 1),
    ATTR_OURS(random_attr, seed, ATTR_INT, 0),
    ATTR_OURS(random_attr, stream, ATTR_INT, 0),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const random_attr *a = n->attr;
    const graph_shape *id = rule_shape(g, n, 0);
    if (rule_type(g, n, 0) != DT_I64 || graph_shape_elements(id) != 1)
        return rule_fail(n, err, "the batch id is %s %s, must be one int64",
                         dtype_name(rule_type(g, n, 0)), SHAPE(id));
    ret_shape[0] = a->shape;
    ret_dtype[0] = DT_F32;
    return OK;
}

GRAPH_OP(RANDOM, random, "Random", ATTRIBUTES(random_attr, fields), .infer = infer);
