/*
 * What a launch of pooling is told. Planes and windows have three axes, those in front of the
 * image's own of size 1; window o of an axis holds the elements o * stride - begin + k * dilation,
 * k from 0 to kernel - 1, that there are. A tap is an element of the window by its number there,
 * row-major.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_POOL_H
#define TEQUIO_BACKEND_CUDA_KERNELS_POOL_H

#include "backend/cuda/kernels/launch.h"

enum { POOL_AXES = 3 };

typedef struct launch_pool {
    launch_type type; /* of x, y and their gradients */
    int64_t planes;   /* of x and of y, one behind the other */
    int64_t channels; /* that such a plane holds, side by side at every position */
    int32_t in[POOL_AXES], out[POOL_AXES]; /* of a plane */
    int32_t kernel[POOL_AXES], stride[POOL_AXES], dilation[POOL_AXES], begin[POOL_AXES];
    bool counts_padding;       /* an average divides by the taps before `padded`, there or not */
    int32_t padded[POOL_AXES]; /* in, and the padding behind it */
    bool wide_taps;            /* the taps that MaxPool remembers are int32, otherwise uint8 */
    bool column_major;         /* of MaxPool's indices: the first axis runs fastest */
    int32_t p;                 /* LpPool's */
} launch_pool;

#ifdef __cplusplus
extern "C" {
#endif

/* pool.cu */

/* The first of the largest elements, NaN counting as larger than all; of a window over padding
 * alone -infinity. `taps` (one for each y) and `indices` (likewise, into all of x) may be NULL;
 * indices are of planes of one channel. */
void launch_max_pool(cuda_stream stream, const launch_pool *p, void *y, void *taps,
                     int64_t *indices, const void *x);
void launch_max_pool_bwd(cuda_stream stream, const launch_pool *p, void *dx, const void *dy,
                         const void *taps);
void launch_average_pool(cuda_stream stream, const launch_pool *p, void *y, const void *x);
void launch_average_pool_bwd(cuda_stream stream, const launch_pool *p, void *dx, const void *dy);
void launch_lp_pool(cuda_stream stream, const launch_pool *p, void *y, const void *x);
void launch_lp_pool_bwd(cuda_stream stream, const launch_pool *p, void *dx, const void *dy,
                        const void *x, const void *y);

#ifdef __cplusplus
}
#endif

#endif
