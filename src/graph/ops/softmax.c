/* Softmax and LogSoftmax along one axis; their gradients need the output only. */
#include "graph/ops/emit.h"
#include "graph/ops/rule.h"

static const attr_field fields[] = {
    ATTR_FIELD(axis_attr, axis, "axis", ATTR_AXIS, -1),
    {0},
};

GRAPH_OP(SOFTMAX, softmax, "Softmax", ATTRIBUTES(axis_attr, fields), .infer = rule_unary,
         BACKWARD(SOFTMAX_BWD, DY(0), Y(0)));
GRAPH_OP(LOG_SOFTMAX, log_softmax, "LogSoftmax", ATTRIBUTES(axis_attr, fields), .infer = rule_unary,
         BACKWARD(LOG_SOFTMAX_BWD, DY(0), Y(0)));
GRAPH_OP(SOFTMAX_BWD, softmax_bwd, "SoftmaxBwd", ATTRIBUTES(axis_attr, fields),
         .infer = rule_unary_bwd);
GRAPH_OP(LOG_SOFTMAX_BWD, log_softmax_bwd, "LogSoftmaxBwd", ATTRIBUTES(axis_attr, fields),
         .infer = rule_unary_bwd);
