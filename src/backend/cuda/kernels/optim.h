/* The optimizers, in the servers' arithmetic (optim/update.h, optim/optim.h). */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_OPTIM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_OPTIM_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

struct update_part;
struct update_span;

/* In place. `state` is an array of the host of the optimizer's states, vectors of the device. */
void launch_update(cuda_stream stream, const struct update_part *u, const float *grad, float *weight,
                   float *const *state);
/* Squares of the elements of each span of x, summed within each block of 4096 elements of x that it touches:
 * sums[0] is that of the first such block of the first span. */
void launch_square_sums(cuda_stream stream, double *sums, const float *x,
                        const struct update_span *spans, size_t n_spans);

#ifdef __cplusplus
}
#endif

#endif
