/*
 * LayerNormalization: every row over the axes from `axis` on, by its mean and its population
 * variance. Mean and 1 / standard deviation are outputs, for backward.
 */
#include "graph/ops/row_norm.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    static const char *const what[] = {"the scale", "the bias"};
    graph_shape normalised, rows;
    TRY(row_norm_shapes(g, n, 1, 2, what, &normalised, &rows, err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_shape[1] = ret_shape[2] = rows;
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    if (dout[1] != GRAPH_NONE || dout[2] != GRAPH_NONE)
        return FAIL(err, E_UNSUPPORTED, "no gradient through the rows' mean and deviation");
    const graph_val in[] = {n.in[0], n.in[1], n.out[1], n.out[2], dout[0]};
    graph_val out[3];
    TRY(graph_add(g, OP_LAYER_NORMALIZATION_BWD, NULL, in, 5, n.attr, out, err));
    for (int32_t i = 0; i < n.n_in; i++) {
        if (want_din[i])
            ret_din[i] = out[i];
    }
    return OK;
}

const graph_op_info graph_op_layer_normalization = {
    OP_ROW(LAYER_NORMALIZATION),
    .name = "LayerNormalization",
    .attr_bytes = sizeof(row_norm_attr),
    .fields = row_norm_fields,
    .infer = infer,
    .grad = grad,
};

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    static const char *const what[] = {"the scale"};
    graph_shape normalised, rows;
    TRY(row_norm_shapes(g, n, 1, 1, what, &normalised, &rows, err));
    TRY(rule_expect(g, n, 2, "the mean", &rows, err));
    TRY(rule_expect(g, n, 3, "the deviation", &rows, err));
    TRY(rule_expect(g, n, 4, "the gradient", rule_shape(g, n, 0), err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_shape[1] = ret_shape[2] = normalised;
    ret_dtype[0] = ret_dtype[1] = ret_dtype[2] = rule_type(g, n, 0);
    return OK;
}

const graph_op_info graph_op_layer_normalization_bwd = {
    OP_ROW(LAYER_NORMALIZATION_BWD),
    .name = "LayerNormalizationBwd",
    .attr_bytes = sizeof(row_norm_attr),
    .fields = row_norm_fields,
    .infer = infer_bwd,
};
