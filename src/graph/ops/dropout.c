/* Dropout by a counter-based mask: y = x mask / (1 - ratio). The mask is saved for backward. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

/* The ratio is an input in ONNX; seed and stream are the run's. */
static const attr_field fields[] = {
    ATTR_RATIO(dropout_attr, ratio, "ratio", 0.5),
    ATTR_OURS(dropout_attr, seed, ATTR_INT, 0),
    ATTR_OURS(dropout_attr, stream, ATTR_INT, 0),
    ATTR_MORE,
};

static status infer(const graph *g, const graph_node *n, graph_shape *ret_shape, dtype *ret_dtype,
                    error *err)
{
    const graph_shape *id = rule_shape(g, n, 1);
    if (rule_type(g, n, 1) != DT_I64 || graph_shape_elements(id) != 1)
        return rule_fail(n, err, "the batch id is %s %s, must be one int64",
                         dtype_name(rule_type(g, n, 1)), SHAPE(id));
    TRY(rule_unary(g, n, ret_shape, ret_dtype, err));
    ret_shape[1] = ret_shape[0];
    ret_dtype[1] = DT_U8;
    return OK;
}

GRAPH_OP(DROPOUT, dropout, "Dropout", ATTRIBUTES(dropout_attr, fields), .infer = infer,
         BACKWARD(DROPOUT_BWD, DY(0), Y(1)));

GRAPH_OP(DROPOUT_BWD, dropout_bwd, "DropoutBwd", ATTRIBUTES(dropout_attr, fields),
         .infer = rule_unary_bwd);
