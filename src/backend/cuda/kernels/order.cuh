/* Numbers of any type as whole ones of the same order, in the CPU's words (backend/cpu/top_k.c). */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ORDER_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ORDER_CUH

#include "backend/cuda/kernels/device.cuh"

/* The bits of a float, read as a number of sign and size, have its order; there is one zero, and
 * NaN is above all. Within 32 bits, like all but the last. */
static __device__ __forceinline__ int64_t order_of(float x)
{
    if (x != x)
        return INT32_MAX;
    int32_t bits = (int32_t)bits_of(x + 0.0f);
    return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}
static __device__ __forceinline__ int64_t order_of(uint8_t x)
{
    return x;
}
static __device__ __forceinline__ int64_t order_of(int32_t x)
{
    return x;
}
static __device__ __forceinline__ int64_t order_of(int64_t x)
{
    return x;
}

#endif
