/* LayerNormalization and RMSNormalization of [rows,n]. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ROW_NORM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_ROW_NORM_H

#include "backend/cuda/kernels/chain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_row_norm_call {
    launch_type x_type, y_type; /* of x and dx, of y and dy; not one half and the other */
    int64_t rows, n;
    bool centred;               /* LayerNormalization */
    float epsilon;
    int64_t bands;              /* backward: of rows, at most 65535 */
    int pieces;                 /* backward: that bands are added up in */
    float *workspace;           /* backward: [2,bands,n], then [pieces,2,n] if there are several */
    const launch_chain_call *chain; /* or NULL; of an x of float32: forward it makes x and stores it,
                                     * backward it goes on with dx */
} launch_row_norm_call;

/* bias, mean and inverse (1 / deviation, [rows]) may be NULL; y may be x of the same type. */
void launch_row_norm(cuda_stream stream, const launch_row_norm_call *c, void *y, float *mean,
                     float *inverse, const void *x, const float *scale, const float *bias);
/* mean is NULL unless centred. dx, dscale and dbias may be NULL; dx may be dy or x of its type. */
void launch_row_norm_bwd(cuda_stream stream, const launch_row_norm_call *c, void *dx, float *dscale,
                         float *dbias, const void *dy, const void *x, const float *scale,
                         const float *mean, const float *inverse);

#ifdef __cplusplus
}
#endif

#endif
