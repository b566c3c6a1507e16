/* Looking for keys that sort.cu has sorted. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_SORTED_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_SORTED_CUH

#include "backend/cuda/kernels/device.cuh"

/* The first of n keys that is not below x; n if there is none. */
static __device__ __forceinline__ int64_t first_of(const uint32_t *sorted, int64_t n, uint64_t x)
{
    int64_t low = 0;
#pragma unroll 1
    while (low < n) {
        int64_t middle = low + (n - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

#endif
