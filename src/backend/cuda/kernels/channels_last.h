/* Images from planes to pixels. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_CHANNELS_LAST_H
#define TEQUIO_BACKEND_CUDA_KERNELS_CHANNELS_LAST_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y [images, positions, channels] = x [images, channels, positions]: floats, halves of one type, or
 * both. There are fewer than 2^31 squares of 32 channels and positions. */
void launch_channels_last(cuda_stream stream, launch_types t, void *y, const void *x,
                          int64_t images, int64_t channels, int64_t positions);

#ifdef __cplusplus
}
#endif

#endif
