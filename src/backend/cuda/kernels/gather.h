/* Rows by their numbers. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_GATHER_H
#define TEQUIO_BACKEND_CUDA_KERNELS_GATHER_H

#include "backend/cuda/kernels/launch.h"
#include "graph/index_positions.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct launch_gather_call {
    index_positions at;
    int64_t element;            /* bytes */
    launch_fault fault;         /* a bad index; it counts as 0 */
} launch_gather_call;

/* y [outer,count,inner]: the rows of x that the indices name; both aligned to 16 bytes. */
void launch_gather(cuda_stream stream, const launch_gather_call *c, void *y, const void *x,
                   const void *indices);

#ifdef __cplusplus
}
#endif

#endif
