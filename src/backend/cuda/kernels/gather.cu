/* Rows by their numbers: copied in the widest pieces that divide a row. */
#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"

enum { THREADS = 256 };

static __device__ __forceinline__ int64_t index_at(const launch_gather_call *c, const void *indices,
                                                   int64_t i)
{
    return c->wide ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

/* The row that index i names. The places of bad ones are told apart as far as 32 bits go. */
static __device__ __forceinline__ int64_t row_of(const launch_gather_call *c, const void *indices,
                                                 int64_t i)
{
    int64_t at = index_at(c, indices, i);
    at += at < 0 ? c->size : 0;
    if (at >= 0 && at < c->size)
        return at;
    atomic_min_u64(c->fault, c->fault_node | (uint64_t)(i < UINT32_MAX ? i : UINT32_MAX));
    return 0;
}

/* A thread a piece of y; `pieces` in a row. */
template <typename T>
static __global__ void gather(T *y, const T *x, const void *indices, launch_gather_call c,
                              int64_t pieces)
{
    int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (!IN(at < c.outer * c.n * pieces))
        return;
    int64_t row = at / pieces, piece = at % pieces;
    int64_t from = row / c.n * LD(c.size) + row_of(&c, indices, row % c.n);
    y[at] = x[from * pieces + piece];
}

template <typename T>
static void launch(cuda_stream stream, const launch_gather_call *c, void *y, const void *x,
                   const void *indices)
{
    int64_t pieces = c->bytes / (int64_t)sizeof(T), total = c->outer * c->n * pieces;
    unsigned blocks = (unsigned)((total + THREADS - 1) / THREADS);
    LAUNCH(gather<T>, dim3(blocks), dim3(THREADS), 0, stream, (T *)y, (const T *)x, indices, *c,
           pieces);
}

void launch_gather(cuda_stream stream, const launch_gather_call *c, void *y, const void *x,
                   const void *indices)
{
    if (c->outer == 0 || c->n == 0 || c->bytes == 0)
        return;
    if (c->bytes % 16 == 0)
        launch<uint4>(stream, c, y, x, indices);
    else if (c->bytes % 8 == 0)
        launch<uint2>(stream, c, y, x, indices);
    else if (c->bytes % 4 == 0)
        launch<uint32_t>(stream, c, y, x, indices);
    else
        launch<uint8_t>(stream, c, y, x, indices);
}
