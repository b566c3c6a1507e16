/*
 * LayerNormalization: every row over the axes from `axis` on, by its mean and its population variance.
 * Mean and 1 / standard deviation are outputs, for backward. RMSNormalization: every row divided by its
 * root mean square, whose inverse is an output. x is [rows..., normalised axes...].
 */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_FIELD(row_norm_attr, axis, "axis", ATTR_AXIS, -1),
    ATTR_WITHIN(row_norm_attr, epsilon, "epsilon", ATTR_FLOAT, 1e-5, 0, __builtin_inf()),
    {0},
};

/* Checks that inputs 1 .. last have the shape of the normalised axes, and gives that shape and the
 * shape of one number a row. */
static status shapes(const graph *g, const graph_node *n, int32_t last, graph_shape *ret_normalised,
                     graph_shape *ret_rows, error *err)
{
    static const char *const what[] = {"", "the scale", "the bias"};
    const row_norm_attr *a = n->attr;
    const graph_shape *x = rule_shape(g, n, 0);
    TRY(rule_float(g, n, 0, err));
    graph_shape normalised = {.rank = x->rank - a->axis}, rows = *x;
    for (int32_t i = a->axis; i < x->rank; i++) {
        normalised.dim[i - a->axis] = x->dim[i];
        rows.dim[i] = 1;
    }
    for (int32_t i = 1; i <= last && i < n->n_in; i++) {
        TRY(rule_same_type(g, n, 0, i, err));
        TRY(rule_expect(g, n, i, what[i], &normalised, err));
    }
    *ret_normalised = normalised;
    *ret_rows = rows;
    return OK;
}

/* Output 0 has the shape of x, the others that of `others`. */
static void outputs(const graph *g, const graph_node *n, const graph_shape *others,
                    graph_shape *ret_shape, dtype *ret_dtype)
{
    for (int32_t i = 0; i < n->n_out; i++) {
        ret_shape[i] = i == 0 ? *rule_shape(g, n, 0) : *others;
        ret_dtype[i] = rule_type(g, n, 0);
    }
}

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    graph_shape normalised, rows;
    TRY(shapes(g, n, n->op == OP_LAYER_NORMALIZATION ? 2 : 1, &normalised, &rows, err));
    outputs(g, n, &rows, ret_shape, ret_dtype);
    return OK;
}

static status infer_bwd(const graph *g, const graph_node *n, graph_shape *ret_shape,
                        dtype *ret_dtype, error *err)
{
    graph_shape normalised, rows;
    bool is_layer = n->op == OP_LAYER_NORMALIZATION_BWD;
    TRY(shapes(g, n, 1, &normalised, &rows, err));
    TRY(rule_expect(g, n, 2, is_layer ? "the mean" : "the root mean square", &rows, err));
    if (is_layer)
        TRY(rule_expect(g, n, 3, "the deviation", &rows, err));
    TRY(rule_expect(g, n, is_layer ? 4 : 3, "the gradient", rule_shape(g, n, 0), err));
    outputs(g, n, &normalised, ret_shape, ret_dtype);
    return OK;
}

#define NORM(ID, name_, onnx, ...)                                                                 \
    GRAPH_OP(ID, name_, onnx, ATTRIBUTES(row_norm_attr, fields), .infer = infer,                   \
             BACKWARD(ID##_BWD, __VA_ARGS__));                                                     \
    GRAPH_OP(ID##_BWD, name_##_bwd, onnx "Bwd", ATTRIBUTES(row_norm_attr, fields),                 \
             .infer = infer_bwd)

NORM(LAYER_NORMALIZATION, layer_normalization, "LayerNormalization", X(0), X(1), Y(1), Y(2), DY(0));
NORM(RMS_NORMALIZATION, rms_normalization, "RMSNormalization", X(0), X(1), Y(1), DY(0));
