/* The sum of two gradients. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TREE_SUM_H
#define TEQUIO_BACKEND_CUDA_KERNELS_TREE_SUM_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* y[n] = left[n] + right[n]; y may be left or right. The one addition of the tree of slots. */
void launch_tree_sum(cuda_stream stream, float *y, const float *left, const float *right, size_t n);

#ifdef __cplusplus
}
#endif

#endif
