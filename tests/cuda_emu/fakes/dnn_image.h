/* Convolutions of the cuDNN that is played: what dnn_conv.c has recognised and dnn_image.c
 * computes. */
#ifndef TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_IMAGE_H
#define TEQUIO_TESTS_CUDA_EMU_FAKES_DNN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_AXES = 3 }; /* those that are not there have size 1 and stand first */

typedef enum image_part { IMAGE_X, IMAGE_W, IMAGE_Y, IMAGE_PARTS } image_part;

/* [outer, channels, positions ..], strides in elements. */
typedef struct image {
    unsigned type;
    int64_t outer, channels, positions[IMAGE_AXES];
    int64_t outer_stride, channel_stride, strides[IMAGE_AXES];
    void *at;
} image;

typedef struct image_call {
    image_part makes;
    image of[IMAGE_PARTS];
    int64_t groups, pad[IMAGE_AXES], stride[IMAGE_AXES], dilation[IMAGE_AXES];
    bool tensor_cores; /* float32 is rounded to TF32 */
    const float *bias; /* [channels] of what is made; or NULL */
    void *workspace;
    size_t workspace_bytes;
} image_call;

size_t image_extent(const image *i);

/* As a kernel of one thread; `arguments` is an image_call. */
void image_convolve(void *arguments);

#endif
