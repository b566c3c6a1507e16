/* Operators over regions of an image. */
#include "onnx/ops.h"

#include <string.h>

/* Before opset 16 a pixel's middle was at 0. */
status onnx_op_roi_align(call *c, error *err)
{
    graph_val in[3];
    const char *mode = call_str(c, "mode");
    const char *where = call_knows(c, "coordinate_transformation_mode") && c->version >= 16
                            ? call_str(c, "coordinate_transformation_mode")
                            : "output_half_pixel";
    roi_attr attr = {.rows = call_int(c, "output_height"),
                     .columns = call_int(c, "output_width"),
                     .ratio = call_int(c, "sampling_ratio"),
                     .scale = (float)call_float(c, "spatial_scale"),
                     .half_pixel = strcmp(where, "half_pixel") == 0,
                     .largest = strcmp(mode, "max") == 0};
    if ((!attr.largest && strcmp(mode, "avg") != 0) ||
        (!attr.half_pixel && strcmp(where, "output_half_pixel") != 0))
        return FAIL(err, E_DATA, "its mode is '%s', its coordinates are '%s'", mode, where);
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
