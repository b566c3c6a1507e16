#include "graph/ops/row_norm.h"

const attr_field row_norm_fields[] = {
    ATTR_FIELD(row_norm_attr, axis, "axis", ATTR_AXIS, -1),
    ATTR_WITHIN(row_norm_attr, epsilon, "epsilon", ATTR_FLOAT, 1e-5, 0, __builtin_inf()),
    {0},
};

status row_norm_shapes(const graph *g, const graph_node *n, int32_t first, int32_t last,
                       const char *const *what, graph_shape *ret_normalised, graph_shape *ret_rows,
                       error *err)
{
    const row_norm_attr *a = n->attr;
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
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
