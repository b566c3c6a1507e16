/* Reductions over axes. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_REDUCE_H
#define TEQUIO_BACKEND_CUDA_KERNELS_REDUCE_H

#include "backend/cuda/kernels/launch.h"
#include "backend/reduce_space.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum launch_reduce_kind {
    LAUNCH_REDUCE_SUM,
    LAUNCH_REDUCE_MEAN,
    LAUNCH_REDUCE_L1,
    LAUNCH_REDUCE_L2,
    LAUNCH_REDUCE_SUM_SQUARE,
    LAUNCH_REDUCE_LOG_SUM,
    LAUNCH_REDUCE_MAX,
    LAUNCH_REDUCE_MIN,
    LAUNCH_REDUCE_PROD,
    LAUNCH_REDUCE_LOG_SUM_EXP,
} launch_reduce_kind;

typedef struct launch_reduce_call {
    reduce_space space; /* reduce_depth > 0 */
    launch_reduce_kind kind;
    launch_type type;   /* of x; from LAUNCH_REDUCE_MAX on float32 alone */
    float divisor;      /* LAUNCH_REDUCE_MEAN's */
    int pieces;         /* of what falls into one result */
    void *workspace;    /* pieces > 1: 4 bytes a piece and result; LOG_SUM_EXP 8 */
} launch_reduce_call;

void launch_reduce(cuda_stream stream, const launch_reduce_call *c, float *y, const void *x);
/* Of int64 (`wide`) or int32: SUM, MAX, MIN, PROD, which wrap around. No pieces. */
void launch_reduce_whole(cuda_stream stream, const launch_reduce_call *c, void *y, const void *x,
                         bool wide);
/* Of LAUNCH_REDUCE_PROD. */
void launch_reduce_prod_bwd(cuda_stream stream, const reduce_space *s, float *dx, const float *dy,
                            const float *x);

#ifdef __cplusplus
}
#endif

#endif
