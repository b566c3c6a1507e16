/* Along an axis: the position of the largest, Hardmax, running sums. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ALONG_H
#define TEQUIO_BACKEND_CUDA_KERNELS_ALONG_H

#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_along_call {
    int64_t outer, axis, inner;
    dtype type;                 /* F32, I64, I32 */
    bool by_block;              /* a block takes a line, else a thread does */
    bool smallest, last;        /* launch_arg: not the largest; of several alike, not the first */
    bool exclusive, reverse;    /* launch_cum_sum */
} launch_along_call;

/* y [outer,inner]: where the largest of each line stands. NaN is never larger, nor is anything than
 * a NaN at position 0. */
void launch_arg(cuda_stream stream, const launch_along_call *c, int64_t *y, const void *x);
/* y [outer,axis,inner]: 1 there, 0 elsewhere. F32. */
void launch_hardmax(cuda_stream stream, const launch_along_call *c, float *y, const float *x);
/* y [outer,axis,inner]: sums along the axis, of floats in double, of whole numbers modulo 2^64. */
void launch_cum_sum(cuda_stream stream, const launch_along_call *c, void *y, const void *x);

#ifdef __cplusplus
}
#endif

#endif
