/*
 * INLINE: a function of a header that host compilers and nvcc both make into part of a loop or
 * kernel. UNROLL, in front of a loop with few rounds: they are written out.
 */
#ifndef TEQUIO_COMMON_BASE_INLINE_H
#define TEQUIO_COMMON_BASE_INLINE_H

#ifdef __CUDACC__
#define INLINE static __host__ __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#else
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
