/*
 * What walks along one axis: ArgMax and ArgMin give places and so no gradient; Hardmax is flat
 * nearly everywhere; the gradient of a running sum is the running sum from the other end.
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

#include <inttypes.h>

static status infer_arg(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    arg_attr *a = (arg_attr *)n->attr;
    graph_shape x = *rule_shape(g, n, 0), y = {.rank = 0};
    TRY(rule_axis(n, x.rank, &a->axis, err));
    if (x.dim[a->axis] == 0)
        return rule_fail(n, err, "axis %" PRId32 " of the input %s has no elements to compare",
                         a->axis, SHAPE(&x));
    for (int32_t i = 0; i < x.rank; i++) {
        if (i != a->axis || !a->drop_dims)
            y.dim[y.rank++] = i == a->axis ? 1 : x.dim[i];
    }
    ret_shape[0] = y;
    ret_dtype[0] = DT_I64;
    return OK;
}

static status infer_hardmax(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    TRY(rule_axis(n, rule_shape(g, n, 0)->rank, &((axis_attr *)n->attr)->axis, err));
    return rule_unary(g, n, ret_shape, ret_dtype, err);
}

static status grad_hardmax(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                           graph_val *ret_din, error *err)
{
    (void)dout;
    (void)want_din;
    graph_shape x = emit_shape_of(g, graph_node_at(g, node)->in[0]);
    return emit_zero(g, &x, &ret_din[0], err);
}

static status infer_cum_sum(const graph *g, const graph_node *n, graph_shape *ret_shape,
                            dtype *ret_dtype, error *err)
{
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_dtype[0] = rule_type(g, n, 0);
    return rule_axis(n, ret_shape[0].rank, &((cum_sum_attr *)n->attr)->axis, err);
}

static status grad_cum_sum(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                           graph_val *ret_din, error *err)
{
    (void)want_din;
    cum_sum_attr a = *(const cum_sum_attr *)graph_node_at(g, node)->attr;
    a.reverse = !a.reverse;
    return emit_1(g, OP_CUM_SUM, dout[0], &a, &ret_din[0], err);
}

const graph_op_info graph_op_arg_max = {
    OP_ROW(ARG_MAX),
    .name = "ArgMax",
    .attr_bytes = sizeof(arg_attr),
    .infer = infer_arg,
};

const graph_op_info graph_op_arg_min = {
    OP_ROW(ARG_MIN),
    .name = "ArgMin",
    .attr_bytes = sizeof(arg_attr),
    .infer = infer_arg,
};

const graph_op_info graph_op_hardmax = {
    OP_ROW(HARDMAX),        .name = "Hardmax",    .attr_bytes = sizeof(axis_attr),
    .infer = infer_hardmax, .grad = grad_hardmax,
};

const graph_op_info graph_op_cum_sum = {
    OP_ROW(CUM_SUM),        .name = "CumSum",     .attr_bytes = sizeof(cum_sum_attr),
    .infer = infer_cum_sum, .grad = grad_cum_sum,
};
