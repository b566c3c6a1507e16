/* Dropout by a counter-based mask: y = x mask / (1 - ratio). The mask is saved for backward. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static status check_ratio(const graph_node *n, error *err)
{
    const dropout_attr *a = n->attr;
    if (!(a->ratio >= 0.0f && a->ratio < 1.0f))
        return rule_fail(n, err, "the ratio %g must be in [0,1)", (double)a->ratio);
    return OK;
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *id = rule_shape(g, n, 1);
    TRY(check_ratio(n, err));
    if (rule_type(g, n, 1) != DT_I64 || graph_shape_elements(id) != 1)
        return rule_fail(n, err, "the batch id is %s %s, must be one int64",
                         dtype_name(rule_type(g, n, 1)), SHAPE(id));
    TRY(rule_unary(g, n, ret_shape, ret_dtype, err));
    ret_shape[1] = ret_shape[0];
    ret_dtype[1] = DT_U8;
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    (void)want_din;
    graph_node n = *graph_node_at(g, node);
    return emit_2(g, OP_DROPOUT_BWD, dout[0], n.out[1], n.attr, &ret_din[0], err);
}

GRAPH_OP(DROPOUT, dropout, "Dropout", .attr_bytes = sizeof(dropout_attr), .infer = infer,
         .grad = grad);

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    TRY(check_ratio(n, err));
    return rule_unary_bwd(g, n, ret_shape, ret_dtype, err);
}

GRAPH_OP(DROPOUT_BWD, dropout_bwd, "DropoutBwd", .attr_bytes = sizeof(dropout_attr),
         .infer = infer_bwd);
