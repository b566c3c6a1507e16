/* Transpose: axis i of the output is axis perm[i] of the input. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static const attr_field fields[] = {
    ATTR_FIELD(transpose_attr, perm, "perm", ATTR_AXES, 0),
    ATTR_OURS(transpose_attr, reverse, ATTR_BOOL, 1), /* without a perm */
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    transpose_attr *a = (transpose_attr *)n->attr;
    unsigned seen = 0;
    graph_shape y = {.rank = x->rank};
    for (int32_t i = 0; i < x->rank; i++) {
        if (a->reverse)
            a->perm[i] = x->rank - 1 - i;
        TRY(rule_axis(n, x->rank, &a->perm[i], err));
        if (seen & 1u << a->perm[i])
            return rule_fail(n, err, "perm names axis %" PRId32 " of the input %s twice",
                             a->perm[i], SHAPE(x));
        seen |= 1u << a->perm[i];
        y.dim[i] = x->dim[a->perm[i]];
    }
    a->reverse = false;
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(const graph_gradient *d, error *err)
{
    const transpose_attr *a = d->n.attr;
    transpose_attr inverse = {.reverse = false};
    int32_t rank = emit_shape_of(d->g, d->n.in[0]).rank;
    for (int32_t i = 0; i < rank; i++)
        inverse.perm[a->perm[i]] = i;
    return emit_1(d->g, OP_TRANSPOSE, d->dy[0], &inverse, &d->dx[0], err);
}

GRAPH_OP(TRANSPOSE, transpose, "Transpose", ATTRIBUTES(transpose_attr, fields), .infer = infer,
         .grad = grad);
