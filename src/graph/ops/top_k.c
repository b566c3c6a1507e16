/*
 * TopK: the k largest or smallest elements along an axis, and where they were. Of equal ones the
 * first is taken first. NaN counts as larger than any number.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

/* k is an input in ONNX. */
static const attr_field fields[] = {
    ATTR_FIELD(top_k_attr, axis, "axis", ATTR_AXIS, -1),
    ATTR_OURS(top_k_attr, k, ATTR_INT, 0),
    ATTR_FIELD(top_k_attr, smallest, "largest", ATTR_NOT, 1),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    const top_k_attr *a = n->attr;
    if (a->k < 0 || a->k > x->dim[a->axis])
        return rule_fail(n, err, "k = %" PRId64 " is not within 0 .. %" PRId64, a->k,
                         x->dim[a->axis]);
    ret_shape[0] = *x;
    ret_shape[0].dim[a->axis] = a->k;
    ret_shape[1] = ret_shape[0];
    ret_dtype[0] = rule_type(g, n, 0);
    ret_dtype[1] = DT_I64;
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    graph_shape x = emit_shape_of(d->g, d->n.in[0]);
    index_attr a = {.axis = ((const top_k_attr *)d->n.attr)->axis, .reduction = SCATTER_ADD};
    graph_val zero;
    TRY(emit_zero(d->g, &x, &zero, err));
    return emit_3(d->g, OP_SCATTER_ELEMENTS, zero, d->n.out[1], d->dy[0], &a, &d->dx[0], err);
}

GRAPH_OP(TOP_K, top_k, "TopK", ATTRIBUTES(top_k_attr, fields), .infer = infer, .grad = grad);
