/* Pad, all modes. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_PAD_H
#define TEQUIO_BACKEND_CUDA_KERNELS_PAD_H

#include "backend/axes.h"
#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_pad_call {
    int rank;                          /* at least 1 */
    int64_t dim[AXES_MOST];            /* of y; all but the first make at most 2^31 - 1 elements */
    const int64_t *sources[AXES_MOST]; /* on the device, by position: elements into x, -1: none */
    int64_t run;                       /* elements behind those axes */
    size_t element;                    /* 1, 2, 4, 8 or 16 bytes */
    uint8_t value[16];                 /* where there is no source */
} launch_pad_call;

void launch_pad(cuda_stream stream, const launch_pad_call *c, void *y, const void *x);

#ifdef __cplusplus
}
#endif

#endif
