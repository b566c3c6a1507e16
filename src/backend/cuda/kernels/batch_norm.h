/* BatchNormalization: statistics of channels, and what follows from them. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_BATCH_NORM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_BATCH_NORM_H

#include "backend/cuda/kernels/chain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_batch_norm_call {
    launch_type type;             /* of x, y and their gradients */
    int64_t n, channels, plane;   /* [n,channels,plane] */
    bool channels_last;           /* [n,plane,channels] */
    float epsilon;
    int pieces;                   /* of the sums over n and plane */
    void *workspace;              /* pieces > 1: 16 bytes a piece and channel; backward 8 */
    void *lines;                  /* 16 bytes a channel, with relu_bias 32, aligned to 16 */
    const launch_chain_call *behind; /* or NULL; forward it goes on with y, whose elements it counts as
                                      * they lie */
    const launch_chain_call *before; /* or NULL; backward, with channels last: it makes and stores dy */
    const float *relu_bias;       /* or NULL; backward: dy is of Relu's result, of what the norm made with
                                   * this bias, which is made of x again */
    const float *share;           /* or NULL; backward: the number that makes mean_share and variance_share */
    float *mean_share, *variance_share; /* ... of mean and variance */
} launch_batch_norm_call;

/* Mean and population variance of each channel; n plane > 0. */
void launch_batch_norm_statistics(cuda_stream stream, const launch_batch_norm_call *c, float *mean,
                                  float *variance, const void *x);
/* y = (x - mean) / sqrt(variance + epsilon) scale + bias; y may be x, or NULL with a chain. */
void launch_batch_norm(cuda_stream stream, const launch_batch_norm_call *c, void *y, const void *x,
                       const float *scale, const float *bias, const float *mean,
                       const float *variance);
/* Without `training` the statistics do not depend on x. n plane > 0; dx may be NULL, or dy. Chain and
 * relu_bias exclude each other. */
void launch_batch_norm_bwd(cuda_stream stream, const launch_batch_norm_call *c, void *dx,
                           float *dscale, float *dbias, const void *dy, const void *x,
                           const float *scale, const float *mean, const float *variance,
                           bool training);

#ifdef __cplusplus
}
#endif

#endif
