/* Operators over regions of an image. */
#include "onnx/ops.h"

/* Before opset 16 a pixel's middle was at 0. */
status onnx_op_roi_align(call *c, error *err)
{
    graph_val in[3];
    roi_attr attr;
    TRY(call_fields(c, OP_ROI_ALIGN, &attr, err));
    attr.half_pixel = attr.half_pixel && c->version >= 16;
    for (int32_t i = 0; i < 3; i++)
        TRY(call_value(c, i, &in[i], err));
    return call_finish(c, OP_ROI_ALIGN, in, 3, &attr, err);
}

status onnx_op_non_max_suppression(call *c, error *err)
{
    (void)c;
    return call_refuse(err, "how many boxes it keeps depends on data, and shapes here are known before "
                            "the run; a loss needs all boxes, so export the network without it");
}
