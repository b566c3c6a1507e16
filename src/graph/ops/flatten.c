/* Flatten: a matrix of the same bytes, rows up to `axis`, columns from there. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *x = rule_shape(g, n, 0);
    axis_attr *a = (axis_attr *)n->attr;
    if (a->axis != x->rank) /* all rows, no columns: ONNX allows it */
        TRY(rule_axis(n, x->rank, &a->axis, err));
    graph_shape y = {.rank = 2, .dim = {1, 1}};
    for (int32_t i = 0; i < x->rank; i++)
        y.dim[i < a->axis ? 0 : 1] *= x->dim[i];
    ret_shape[0] = y;
    ret_dtype[0] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_shape x = emit_shape_of(g, graph_node_at(g, node)->in[0]);
    return emit_reshape(g, dout[0], &x, &ret_din[0], err);
}

const graph_op_info graph_op_flatten = {
    OP_ROW(FLATTEN), .name = "Flatten", .attr_bytes = sizeof(axis_attr),
    .infer = infer,  .grad = grad,
};
