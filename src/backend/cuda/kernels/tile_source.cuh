/*
 * Where the factors of a tiled matmul lie (tile_matmul.cuh): axes of memory that are one axis of a
 * matrix, and sources. A source has rows and k, and says by line_of(row), step_of(k) and at(line,
 * step) how many elements behind its data a factor lies, or -1: it is zero.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TILE_SOURCE_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_TILE_SOURCE_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/tile.h"

/* Division by a number that the host knows, for 0 <= n < 2^31 (Granlund and Montgomery, 1994). */
struct divisor {
    uint32_t by, magic, shift;
};

static inline divisor divisor_of(int64_t by)
{
    divisor d = {(uint32_t)by, 0, 0};
    while ((UINT64_C(1) << d.shift) < d.by)
        d.shift++;
    d.magic = (uint32_t)(((UINT64_C(1) << 32) * ((UINT64_C(1) << d.shift) - d.by)) / d.by + 1);
    return d;
}

__device__ __forceinline__ int divide(int n, divisor d)
{
    uint32_t high = (uint32_t)((uint64_t)(uint32_t)n * d.magic >> 32);
    return (int)((high + (uint32_t)n) >> d.shift);
}

/* Where a place of an axis lies that is two axes in memory: [outer, inner]. */
struct tile_axis {
    divisor inner;
    int64_t outer_step, inner_step;

    __device__ __forceinline__ int64_t at(int i) const
    {
        int outer = divide(i, inner);
        return outer * LD(outer_step) + (i - outer * (int)inner.by) * LD(inner_step);
    }
};

static inline tile_axis tile_axis_of(int64_t inner, int64_t outer_step, int64_t inner_step)
{
    return tile_axis{divisor_of(inner), outer_step, inner_step};
}

static inline tile_axis tile_axis_plain(int64_t step)
{
    return tile_axis_of(INT32_MAX, 0, step);
}

/* Whether a source is read along its rows too: never, by whole chunks alone, or one by one also. */
enum tile_rows { TILE_NO_ROWS, TILE_WHOLE_ROWS, TILE_ANY_ROWS };

/* What every source of factors has. */
struct tile_factors {
    const void *data;
    int64_t batch_step;
    int rows;
    int bytes;    /* of a factor */
    bool along_k; /* a thread reads neighbours in k, otherwise neighbouring rows */
    bool vector;  /* ... by 16 bytes: they lie side by side and, where a batch begins at a
                   * multiple of 16, so do all its chunks */

    __device__ __forceinline__ void enter(int64_t batch)
    {
        data = (const char *)data + batch * LD(batch_step) * bytes;
        vector = vector && (uintptr_t)data % 16 == 0;
    }
};

/* Factors that all lie in memory, by row and by k. */
struct tile_dense : tile_factors {
    static constexpr tile_rows ROWS = TILE_ANY_ROWS;
    tile_axis row_axis, k_axis;
    typedef int64_t line;
    typedef int64_t step;

    __device__ __forceinline__ line line_of(int row) const
    {
        return row_axis.at(row);
    }
    __device__ __forceinline__ step step_of(int k) const
    {
        return k_axis.at(k);
    }
    __device__ __forceinline__ int64_t at(line l, step s) const
    {
        return l + s;
    }
};

static inline int tile_bytes_of(tile_kind kind)
{
    return kind == TILE_BF16 || kind == TILE_F16 ? 2 : 4;
}

static inline bool tile_steps_by_16(const tile_axis &a, int64_t size, int bytes)
{
    return a.inner_step * bytes % 16 == 0 &&
           ((int64_t)a.inner.by >= size || a.outer_step * bytes % 16 == 0);
}

/* Decides who reads what, and whether by 16 bytes; where it begins is looked at on the device. */
static inline void tile_dense_ways(tile_dense *s, int64_t k)
{
    const tile_axis &r = s->row_axis, &c = s->k_axis;
    s->along_k = c.inner_step == 1 || r.inner_step != 1;
    if (!s->along_k) {
        s->vector = (int64_t)r.inner.by >= s->rows && tile_steps_by_16(c, k, s->bytes);
        return;
    }
    bool in_one = (int64_t)c.inner.by >= k || c.outer_step == (int64_t)c.inner.by;
    bool in_chunks = c.inner.by * s->bytes % 16 == 0 && c.outer_step * s->bytes % 16 == 0;
    s->vector =
        c.inner_step == 1 && (in_one || in_chunks) && tile_steps_by_16(r, s->rows, s->bytes);
}

/* A factor in memory. */
template <tile_kind KIND> struct tile_factor {
    typedef float type;
};
template <> struct tile_factor<TILE_BF16> {
    typedef bf16 type;
};
template <> struct tile_factor<TILE_F16> {
    typedef f16 type;
};

/* Factors in 16 bytes. */
template <tile_kind KIND>
constexpr int TILE_CHUNK = 16 / (int)sizeof(typename tile_factor<KIND>::type);

/* One factor as the low bits of a word. */
__device__ __forceinline__ uint32_t tile_bits(float x)
{
    return bits_of(x);
}
__device__ __forceinline__ uint32_t tile_bits(bf16 x)
{
    return x.bits;
}
__device__ __forceinline__ uint32_t tile_bits(f16 x)
{
    return x.bits;
}
template <tile_kind KIND> __device__ __forceinline__ uint32_t tile_one(const void *data, int64_t at)
{
    return tile_bits(((const typename tile_factor<KIND>::type *)data)[at]);
}

/* A chunk of factors that lie side by side. */
template <tile_kind KIND> __device__ __forceinline__ uint4 tile_chunk(const void *data, int64_t at)
{
    const typename tile_factor<KIND>::type *from =
        (const typename tile_factor<KIND>::type *)data + at;
    CHECK_ALIGNED(from, 16);
    return *(const uint4 *)from;
}

#endif
