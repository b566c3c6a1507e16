/* Products of matrices. */
#include "onnx/ops.h"

status onnx_op_gemm(call *c, error *err)
{
    graph_val in[3];
    gemm_attr attr = {.alpha = (float)call_float(c, "alpha", 1.0),
                      .beta = (float)call_float(c, "beta", 1.0),
                      .trans_a = call_int(c, "transA", 0) != 0,
                      .trans_b = call_int(c, "transB", 0) != 0};
    if (attr.alpha == 0.0f)
        return call_refuse(err, "its alpha is 0");
    bool biased = call_has(c, 2) && attr.beta != 0.0f;
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    if (biased)
        TRY(call_value(c, 2, &in[2], err));
    return call_finish(c, OP_GEMM, in, biased ? 3 : 2, &attr, err);
}

status onnx_op_matmul(call *c, error *err)
{
    graph_val in[2];
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    return call_finish(c, OP_MATMUL, in, 2, NULL, err);
}
