/* OneHot: a new axis of `depth` elements, `on` at the index and `off` elsewhere. */
#include "graph/ops/rule.h"

#include <inttypes.h>

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    one_hot_attr *a = (one_hot_attr *)n->attr;
    if (rule_type(g, n, 0) != DT_F32) /* ONNX allows whole numbers in any type */
        TRY(rule_index(g, n, 0, err));
    if (x->rank == GRAPH_RANK)
        return rule_fail(n, err, "the indices %s leave no room for one more axis", SHAPE(x));
    TRY(rule_axis(n, x->rank + 1, &a->axis, err));
    if (a->depth < 0)
        return rule_fail(n, err, "depth %" PRId64 " must not be negative", a->depth);
    graph_shape y = {.rank = x->rank + 1};
    for (int32_t i = 0, from = 0; i < y.rank; i++)
        y.dim[i] = i == a->axis ? a->depth : x->dim[from++];
    ret_shape[0] = y;
    ret_dtype[0] = a->type;
    return OK;
}

GRAPH_OP(ONE_HOT, one_hot, "OneHot", .attr_bytes = sizeof(one_hot_attr), .infer = infer);
