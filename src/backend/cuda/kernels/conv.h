/* Convolutions on our own kernels, as matmuls of tiles; sums and limits are tile.h's. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_CONV_H
#define TEQUIO_BACKEND_CUDA_KERNELS_CONV_H

#include "backend/cuda/kernels/tile.h"

/* Where an image or the weights lie, in elements: outer (image, or map of the weights), channel,
 * and position in the row-major order of the spatial axes. [N,C,H,W]: CHW, HW, 1; [N,H,W,C]: HWC,
 * 1, C. */
typedef struct conv_layout {
    int64_t outer, channel, position;
} conv_layout;

typedef struct conv_operand {
    void *data; /* factors are only read */
    dtype type;
    conv_layout at;
} conv_operand;

/* What a convolution and its two gradients share. Always three spatial axes: those that are not
 * there have size, kernel, stride and dilation 1 and pad 0, and stand first. */
typedef struct conv_task {
    tile_kind kind;
    int64_t batch, groups;
    int64_t channels, maps; /* of x and y, all groups together */
    int32_t in[3], out[3], kernel[3], stride[3], dilation[3];
    int32_t pad[3];       /* in front; what lies behind follows from the sizes */
    bool direct;          /* a thread an element, not tiles: for groups of few channels; in
                           * float32 whatever the kind, factors may be of any type */
    conv_operand x, w, y; /* w: outer = map, channel = within its group; whichever is made is
                           * data that is written */
    tile_end end;         /* of y or x: c_row by pixel, c_column by channel of all groups,
                           * c_batch is not read. Of weights: alpha alone */
    tile_cut cut;         /* parts: tile_parts(pieces, groups, rows, columns) of what is made:
                           * pixels and channels of a group; maps of a group and their weights */
} conv_task;

#ifdef __cplusplus
extern "C" {
#endif

/* y, x or w of a convolution from the other two. launch_conv_bwd_data is the transposed
 * convolution too, with its bias at the end. */
void launch_conv(cuda_stream stream, const conv_task *t);
void launch_conv_bwd_data(cuda_stream stream, const conv_task *t);
void launch_conv_bwd_weights(cuda_stream stream, const conv_task *t);

/* db[maps] = alpha * the sums of y over images and positions, in cut.pieces; their parts are
 * tile_parts(pieces, 1, maps, 1). */
void launch_conv_bwd_bias(cuda_stream stream, const conv_task *t, float *db);

#ifdef __cplusplus
}
#endif

#endif
