/* From one type to another. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_CAST_H
#define TEQUIO_BACKEND_CUDA_KERNELS_CAST_H

#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n] = x[n]. Types: float32, int64, int32, uint8, bool. */
void launch_cast(cuda_stream stream, dtype from, dtype to, void *y, const void *x, int64_t n);

/* y[n] = x[n] of floats, halves of one type, or both; aligned to 16 bytes. */
void launch_round(cuda_stream stream, launch_types t, void *y, const void *x, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
