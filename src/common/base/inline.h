/*
 * INLINE: a function of a header that host compilers and nvcc both make into part of a loop or kernel.
 */
#ifndef TEQUIO_COMMON_BASE_INLINE_H
#define TEQUIO_COMMON_BASE_INLINE_H

#ifdef __CUDACC__
#define INLINE static __host__ __device__ __forceinline__
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#endif
