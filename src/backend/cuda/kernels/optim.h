/* The optimizers, in the servers' arithmetic (optim/update.h, optim/optim.h). */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_OPTIM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_OPTIM_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

struct update;

/* `state` and `state_out` are arrays of the host of u's states, vectors of the device. Outputs may be
 * the inputs. */
void launch_update(cuda_stream stream, const struct update *u, int64_t n, const float *grad,
                   const float *weight, float *weight_out, const float *const *state,
                   float *const *state_out);
/* optim_average: y = momentum x + (1 - momentum) scale value; y may be x */
void launch_average(cuda_stream stream, float momentum, float scale, int64_t n, const float *value,
                    const float *x, float *y);
/* Squares of n numbers, the first of which is element `first` of the flat vector, summed within each
 * block of its grid of 4096 elements that they touch: sums[0] is that of the first such block. */
void launch_square_sums(cuda_stream stream, double *sums, const float *x, int64_t first, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
