/*
 * Operands whose type only a launch knows: all threads take one way, so that one kernel does for
 * every mixture of float and half.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TYPED_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_TYPED_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"

static inline size_t type_bytes(launch_type type)
{
    return type == LAUNCH_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Element i of a vector. For launchers. */
static inline void *type_at(void *x, launch_type type, int64_t i)
{
    return (char *)x + i * (int64_t)type_bytes(type);
}
static inline const void *type_at(const void *x, launch_type type, int64_t i)
{
    return (const char *)x + i * (int64_t)type_bytes(type);
}

/* N neighbours, aligned to N elements. */
template <int N>
static __device__ __forceinline__ void load_typed(float ret[N], const void *x, launch_type type,
                                                  int64_t i)
{
    if (type == LAUNCH_F32)
        load_vec<N>(ret, (const float *)x + i);
    else if (type == LAUNCH_BF16)
        load_vec<N>(ret, (const bf16 *)x + i);
    else
        load_vec<N>(ret, (const f16 *)x + i);
}
template <int N>
static __device__ __forceinline__ void store_typed(void *y, launch_type type, int64_t i,
                                                   const float from[N])
{
    if (type == LAUNCH_F32)
        store_vec<N>((float *)y + i, from);
    else if (type == LAUNCH_BF16)
        store_vec<N>((bf16 *)y + i, from);
    else
        store_vec<N>((f16 *)y + i, from);
}

#endif
