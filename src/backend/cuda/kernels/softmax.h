/* Softmax and LogSoftmax. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_SOFTMAX_H
#define TEQUIO_BACKEND_CUDA_KERNELS_SOFTMAX_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_softmax_call {
    launch_type type;
    int64_t outer, axis, inner; /* [outer,axis,inner], over axis */
    bool log;                   /* LogSoftmax */
} launch_softmax_call;

/* y may be x; dx may be dy or y. */
void launch_softmax(cuda_stream stream, const launch_softmax_call *c, void *y, const void *x);
void launch_softmax_bwd(cuda_stream stream, const launch_softmax_call *c, void *dx, const void *dy,
                        const void *y);

#ifdef __cplusplus
}
#endif

#endif
