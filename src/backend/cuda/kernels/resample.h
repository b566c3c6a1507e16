/* Resize, by taps along one axis. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_RESAMPLE_H
#define TEQUIO_BACKEND_CUDA_KERNELS_RESAMPLE_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_resample_call {
    int64_t outer, n_in, n_out, inner; /* n_out * inner is below 2^31 */
    const int64_t *begin, *at;         /* on the device: graph/taps.h */
    const float *weight;
    float outside;                     /* an output without taps */
    bool adds_to_zero;                 /* or begins with the first term: zeros have another sign */
} launch_resample_call;

/* y [outer, n_out, inner] of x [outer, n_in, inner] */
void launch_resample(cuda_stream stream, const launch_resample_call *c, float *y, const float *x);

#ifdef __cplusplus
}
#endif

#endif
