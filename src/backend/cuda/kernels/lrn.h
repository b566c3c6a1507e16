/* LRN. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_LRN_H
#define TEQUIO_BACKEND_CUDA_KERNELS_LRN_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_lrn_call {
    int64_t batch, channels, plane; /* [batch,channels,plane] */
    int64_t before, behind;         /* neighbours that count */
    float alpha, beta, bias;        /* alpha already divided by the size */
} launch_lrn_call;

/* sum: what is raised to the power of beta, or NULL. */
void launch_lrn(cuda_stream stream, const launch_lrn_call *c, float *y, float *sum, const float *x);
void launch_lrn_bwd(cuda_stream stream, const launch_lrn_call *c, float *dx, const float *dy,
                    const float *x, const float *y, const float *sum);

#ifdef __cplusplus
}
#endif

#endif
