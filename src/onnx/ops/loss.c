/* Losses that a file may hold. */
#include "onnx/ops.h"

static status loss(call *c, bool log_probs, error *err)
{
    graph_val in[3], y;
    sce_attr attr;
    int32_t n = call_has(c, 2) ? 3 : 2;
    TRY(call_fields(c, OP_SOFTMAX_CROSS_ENTROPY_LOSS, &attr, err));
    attr.log_probs = log_probs;
    attr.has_ignore_index = call_attribute(c, "ignore_index") != NULL;
    attr.ignore_index = call_int_or(c, "ignore_index", 0);
    for (int32_t i = 0; i < n; i++)
        TRY(call_value(c, i, &in[i], err));
    TRY(graph_add_1(c->im->g, OP_SOFTMAX_CROSS_ENTROPY_LOSS, c->name, in, n, &attr, &y, err));
    call_return(c, 0, y);
    if (log_probs || !call_wants(c, 1))
        return OK;
    TRY(graph_add_1(c->im->g, OP_LOG_SOFTMAX, NULL, in, 1, &(axis_attr){.axis = 1}, &y, err));
    call_return(c, 1, y);
    return OK;
}

status onnx_op_softmax_cross_entropy_loss(call *c, error *err)
{
    return loss(c, false, err);
}

status onnx_op_negative_log_likelihood_loss(call *c, error *err)
{
    return loss(c, true, err);
}
