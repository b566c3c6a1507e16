/* RMSNormalization: every row over the axes from `axis` on, divided by its root mean square, whose
 * inverse is an output, for backward. */
#include "graph/ops/row_norm.h"

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    static const char *const what[] = {"the scale"};
    graph_shape normalised, rows;
    TRY(row_norm_shapes(g, n, 1, 1, what, &normalised, &rows, err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_shape[1] = rows;
    ret_dtype[0] = ret_dtype[1] = rule_type(g, n, 0);
    return OK;
}

static status grad(graph *g, int32_t node, const graph_val *dout, const bool *want_din,
                   graph_val *ret_din, error *err)
{
    graph_node n = *graph_node_at(g, node);
    if (dout[1] != GRAPH_NONE)
        return FAIL(err, E_UNSUPPORTED, "no gradient through the rows' root mean square");
    const graph_val in[] = {n.in[0], n.in[1], n.out[1], dout[0]};
    graph_val out[2];
    TRY(graph_add(g, OP_RMS_NORMALIZATION_BWD, NULL, in, 4, n.attr, out, err));
    for (int32_t i = 0; i < 2; i++) {
        if (want_din[i])
            ret_din[i] = out[i];
    }
    return OK;
}

const graph_op_info graph_op_rms_normalization = {
    OP_ROW(RMS_NORMALIZATION),
    .name = "RMSNormalization",
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
    TRY(rule_expect(g, n, 2, "the root mean square", &rows, err));
    TRY(rule_expect(g, n, 3, "the gradient", rule_shape(g, n, 0), err));
    ret_shape[0] = *rule_shape(g, n, 0);
    ret_shape[1] = normalised;
    ret_dtype[0] = ret_dtype[1] = rule_type(g, n, 0);
    return OK;
}

const graph_op_info graph_op_rms_normalization_bwd = {
    OP_ROW(RMS_NORMALIZATION_BWD),
    .name = "RMSNormalizationBwd",
    .attr_bytes = sizeof(row_norm_attr),
    .fields = row_norm_fields,
    .infer = infer_bwd,
};
