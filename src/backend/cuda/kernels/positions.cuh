/* From positions of indices to row numbers (graph/index_positions.h), and rows dealt to threads. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_POSITIONS_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_POSITIONS_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"
#include "graph/index_positions.h"

/* Number i of the indices, as a position along an axis. The positions of bad ones are told apart as
 * far as 32 bits go. */
static __device__ __forceinline__ int64_t position_along(const void *indices, bool wide, int64_t i,
                                                         int64_t size, const launch_fault &fault)
{
    int64_t at = wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
    at += at < 0 ? size : 0;
    if (at >= 0 && at < size)
        return at;
    atomic_min_u64(fault.word, fault.node | (uint64_t)(i < UINT32_MAX ? i : UINT32_MAX));
    return 0;
}

/* The row that position i names. */
static __device__ __forceinline__ int64_t row_named(const index_positions &p, const void *indices,
                                                    int64_t i, const launch_fault &fault)
{
    int64_t row = 0, rest = i;
    for (int k = p.rank - 1; k > 0; k--) {
        row += rest % p.dim[k] * LD(p.base[k]);
        rest /= p.dim[k];
    }
    if (p.rank > 0)
        row += rest * LD(p.base[0]);
    for (int k = 0; k < p.depth; k++)
        row += position_along(indices, p.wide, i * p.depth + k, p.size[k], fault) * LD(p.stride[k]);
    return row;
}

/* Rows of `width` pieces: each goes to a group of 1 << shift neighbouring threads, in blocks of
 * THREADS, and long ones to several blocks along y. A thread has about `pieces` of them. */
struct strips {
    enum { THREADS = 256, PIECES = 4 };
    int shift;
    dim3 grid;
};

static inline strips strips_of(int64_t rows, int64_t width, int pieces = strips::PIECES)
{
    strips s = {0, dim3(1)};
    int64_t wanted = width <= 32 ? width : (width + pieces - 1) / pieces;
    while (1 << s.shift < strips::THREADS && (1 << s.shift < wanted || (width > 32 && s.shift < 5)))
        s.shift++;
    int64_t groups = strips::THREADS >> s.shift, tall = (int64_t)pieces << s.shift;
    int64_t cuts = (width + tall - 1) / tall;
    s.grid =
        dim3((unsigned)((rows + groups - 1) / groups), (unsigned)(cuts < 65535 ? cuts : 65535));
    return s;
}

/* The row of this thread, and its first and next pieces of it. */
static __device__ __forceinline__ int64_t strip_row(int shift)
{
    return (int64_t)blockIdx.x * (strips::THREADS >> shift) + (threadIdx.x >> shift);
}
static __device__ __forceinline__ int64_t strip_begin(int shift)
{
    return ((int64_t)blockIdx.y << shift) + (threadIdx.x & ((1u << shift) - 1));
}
static __device__ __forceinline__ int64_t strip_step(int shift)
{
    return (int64_t)gridDim.y << shift;
}

#endif
