/* GroupNormalization; with one channel a group, InstanceNormalization. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_GROUP_NORM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_GROUP_NORM_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_group_norm_call {
    launch_type type;                           /* of x, y and their gradients */
    int64_t batch, groups, per_group, plane;    /* [batch, groups per_group, plane] */
    float epsilon;
    int pieces;                                 /* of a group's sums; backward of a channel's */
    void *workspace; /* pieces > 1: 16 bytes a piece and group; backward 8 a piece and channel */
    void *lines;    /* 16 bytes a channel, aligned to 16. All these of every sample */
    void *sums;     /* backward: 8 bytes a channel */
} launch_group_norm_call;

/* mean and inverse (1 / deviation): [batch,groups]; y may be x. */
void launch_group_norm(cuda_stream stream, const launch_group_norm_call *c, void *y, float *mean,
                       float *inverse, const void *x, const float *scale, const float *bias);
/* dx, dscale and dbias may be NULL; dx may be dy. */
void launch_group_norm_bwd(cuda_stream stream, const launch_group_norm_call *c, void *dx,
                           float *dscale, float *dbias, const void *dy, const void *x,
                           const float *scale, const float *mean, const float *inverse);

#ifdef __cplusplus
}
#endif

#endif
