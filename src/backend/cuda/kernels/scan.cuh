/* Sums of those before: the tree is always the same. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_SCAN_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_SCAN_CUH

#include "backend/cuda/kernels/device.cuh"

/* The sum of x over the threads before this one, of a block of THREADS along x, a multiple of 32;
 * *ret_all: over all of them. */
template <int THREADS, typename T> __device__ __forceinline__ T block_before(T x, T *ret_all)
{
    SHARED(T, of_warp, [THREADS / 32]);
    int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    T sum = x;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        T below = __shfl_up_sync(0xffffffffu, sum, by);
        if (lane >= by)
            sum = below + sum;
    }
    if (lane == 31)
        of_warp[warp] = sum;
    T before = __shfl_up_sync(0xffffffffu, sum, 1), warps = 0, all = 0;
    __syncthreads();
    for (int w = 0; w < THREADS / 32; w++) {
        warps = w == warp ? all : warps;
        all += of_warp[w];
    }
    __syncthreads(); /* of_warp may be written again */
    *ret_all = all;
    return lane == 0 ? warps : warps + before;
}

#endif
