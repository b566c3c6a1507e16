#include "graph/ops/row_norm.h"

status row_norm_shapes(const graph *g, const graph_node *n, int32_t first, int32_t last,
                       const char *const *what, graph_shape *ret_normalised, graph_shape *ret_rows,
                       error *err)
{
    row_norm_attr *a = (row_norm_attr *)n->attr;
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    TRY(rule_axis(n, x->rank, &a->axis, err));
    graph_shape normalised = {.rank = x->rank - a->axis}, rows = *x;
    for (int32_t i = a->axis; i < x->rank; i++) {
        normalised.dim[i - a->axis] = x->dim[i];
        rows.dim[i] = 1;
    }
    for (int32_t i = first; i <= last && i < n->n_in; i++) {
        TRY(rule_same_type(g, n, 0, i, err));
        TRY(rule_expect(g, n, i, what[i - first], &normalised, err));
    }
    *ret_normalised = normalised;
    *ret_rows = rows;
    return OK;
}
