/*
 * What C calls of the kernels: a launcher each, in the file of its name. A launcher puts kernels
 * behind what `stream` already has to do, and returns; pointers are to memory of the device. It
 * allocates nothing and decides nothing: who calls has checked shapes and alignments. With nothing
 * to do it launches nothing. Whether a launch was refused is told by cudaGetLastError().
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_LAUNCH_H
#define TEQUIO_BACKEND_CUDA_KERNELS_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *cuda_stream; /* CUDA's cudaStream_t */

/* How a float is stored. */
typedef enum launch_type { LAUNCH_F32, LAUNCH_BF16, LAUNCH_F16 } launch_type;

/* tree_sum.cu */

/* y[n] = left[n] + right[n]; y may be left or right. The one addition of the tree of slots. */
void launch_tree_sum(cuda_stream stream, float *y, const float *left, const float *right, size_t n);

#ifdef __cplusplus
}
#endif

#endif
