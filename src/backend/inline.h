/*
 * INLINE: a function of a header that host compilers and nvcc both make into part of a kernel.
 */
#ifndef TEQUIO_BACKEND_INLINE_H
#define TEQUIO_BACKEND_INLINE_H

#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#else
#define INLINE static inline __attribute__((always_inline))
#endif

#endif
