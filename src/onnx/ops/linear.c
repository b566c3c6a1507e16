/* Products of matrices. */
#include "onnx/ops.h"

/* A product by an alpha of 0 that no library computes: NaN and infinity in a factor stay seen. */
static status no_product(call *c, graph_val *a, error *err)
{
    graph_val in[2] = {*a, GRAPH_NONE};
    const float zero = 0.0f;
    TRY(graph_const(c->im->g, NULL, DT_F32, (graph_shape){.rank = 0}, &zero, &in[1], err));
    return call_emit(c, OP_MUL, in, 2, NULL, a, err);
}

status onnx_op_gemm(call *c, error *err)
{
    graph_val in[3];
    gemm_attr attr = {0};
    TRY(call_fields(c, OP_GEMM, &attr, err));
    if (c->version < 7)
        call_ignore(c, "broadcast"); /* of the bias; it always may */
    bool biased = call_has(c, 2) && attr.beta != 0.0f;
    TRY(call_value(c, 0, &in[0], err));
    TRY(call_value(c, 1, &in[1], err));
    if (attr.alpha == 0.0f) {
        TRY(no_product(c, &in[0], err));
        attr.alpha = 1.0f;
    }
    if (biased)
        TRY(call_value(c, 2, &in[2], err));
    return call_finish(c, OP_GEMM, in, biased ? 3 : 2, &attr, err);
}
