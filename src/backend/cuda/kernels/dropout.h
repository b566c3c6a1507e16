/* Dropout. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_DROPOUT_H
#define TEQUIO_BACKEND_CUDA_KERNELS_DROPOUT_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y = x scale where the mask is 1, else 0. `mask` [n] may be NULL; y may be x. */
void launch_drop(cuda_stream stream, launch_type type, void *y, uint8_t *mask, const void *x,
                 int64_t n, const launch_dropout *d);
void launch_drop_bwd(cuda_stream stream, launch_types t, void *dx, const void *dy,
                     const uint8_t *mask, int64_t n, float scale);

#ifdef __cplusplus
}
#endif

#endif
