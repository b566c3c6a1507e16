/* Bytes of images to floats. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_INPUT_H
#define TEQUIO_BACKEND_CUDA_KERNELS_INPUT_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAUNCH_CHANNELS = 4 };

typedef struct launch_bytes {
    int64_t n, channels, inner; /* x: n bytes, [.., channels, inner] */
    float scale[LAUNCH_CHANNELS], offset[LAUNCH_CHANNELS];
} launch_bytes;

/* y[n] = x[n] * scale + offset of its channel, rounded twice. y and x aligned to 16. */
void launch_expand_bytes(cuda_stream stream, const launch_bytes *b, float *y, const uint8_t *x);

#ifdef __cplusplus
}
#endif

#endif
