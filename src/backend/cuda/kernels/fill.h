/* One value everywhere. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_FILL_H
#define TEQUIO_BACKEND_CUDA_KERNELS_FILL_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n] elements of 1, 2, 4 or 8 bytes: all the low ones of `value`. */
void launch_fill(cuda_stream stream, void *y, int64_t n, int bytes, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
