/*
 * What kernels over rows share. A row is one warp's while it is short, else one block's; its
 * threads take four neighbours each in turn, so which numbers fall to a thread, and with them the
 * order of every sum, follows from the length of the row alone.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ROWS_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ROWS_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"

enum {
    ROW_OF_WARP = 1024, /* numbers of the longest row that a warp takes */
    ROW_WARPS = 4,      /* of a block, a row each */
    ROW_THREADS = 256,  /* of a block that takes one row */
    MOST_BLOCKS = 8192, /* of a grid: threads take more rows each beyond */
};

/* Threads of a block whose rows have THREADS each. */
template <int THREADS> constexpr int ROW_BLOCK = THREADS == 32 ? 32 * ROW_WARPS : THREADS;

/* Of ROW_THREADS threads, or of the 32 of a warp. */
template <int THREADS, typename T, typename F>
__device__ __forceinline__ T row_fold(T x, T none, F f)
{
    if constexpr (THREADS == 32)
        return warp_fold(x, f);
    else
        return block_fold<THREADS>(x, none, f);
}
template <int THREADS, typename T> __device__ __forceinline__ T row_sum(T x)
{
    return row_fold<THREADS>(x, (T)0, [](T a, T b) { return a + b; });
}

/* The rows of this thread: for (int64_t r = row_first(); r < rows; r += row_step()) */
__device__ __forceinline__ int64_t row_first()
{
    return (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
}
__device__ __forceinline__ int64_t row_step()
{
    return (int64_t)gridDim.x * blockDim.y;
}

/* The numbers i .. i + 3 of n; those beyond are `fill`, and not stored. `aligned`: memory there may
 * be moved as a whole. */
struct quad {
    float v[4];
};

template <typename T>
__device__ __forceinline__ quad quad_load(const T *x, int64_t i, int64_t n, bool aligned,
                                          float fill = 0.0f)
{
    quad q;
    if (aligned && i + 4 <= n) {
        load_vec<4>(q.v, x + i);
        return q;
    }
    for (int j = 0; j < 4; j++) {
        q.v[j] = fill;
        if (IN(i + j < n))
            q.v[j] = to_float(x[i + j]);
    }
    return q;
}

template <typename T>
__device__ __forceinline__ void quad_store(T *y, int64_t i, int64_t n, bool aligned, const quad &q)
{
    if (aligned && i + 4 <= n) {
        store_vec<4>(y + i, q.v);
        return;
    }
    for (int j = 0; j < 4; j++)
        if (IN(i + j < n))
            y[i + j] = stored<T>(q.v[j]);
}

/* Numbers whose type is known when the kernel runs: for kernels with a chain inside, of which one for each
 * type would take the compiler long, and which ask for types at every step anyway. */
struct any_floats {
    void *x;
    launch_type type;
};

__device__ __forceinline__ any_floats operator+(any_floats a, int64_t n)
{
    return {(char *)a.x + n * (a.type == LAUNCH_F32 ? 4 : 2), a.type};
}

__device__ __forceinline__ quad quad_load(any_floats a, int64_t i, int64_t n, bool aligned)
{
    if (a.type == LAUNCH_F32)
        return quad_load((const float *)a.x, i, n, aligned);
    if (a.type == LAUNCH_BF16)
        return quad_load((const bf16 *)a.x, i, n, aligned);
    return quad_load((const f16 *)a.x, i, n, aligned);
}

__device__ __forceinline__ void quad_store(any_floats a, int64_t i, int64_t n, bool aligned,
                                           const quad &q)
{
    if (a.type == LAUNCH_F32)
        quad_store((float *)a.x, i, n, aligned, q);
    else if (a.type == LAUNCH_BF16)
        quad_store((bf16 *)a.x, i, n, aligned, q);
    else
        quad_store((f16 *)a.x, i, n, aligned, q);
}

/* For launchers. */

static inline any_floats any_floats_of(const void *x, launch_type type)
{
    return {(void *)x, type};
}

/* Whether rows that begin `pitch` numbers apart can be moved by fours. */
template <typename T> static inline bool rows_aligned(const T *x, int64_t pitch)
{
    return (uintptr_t)x % (4 * sizeof(T)) == 0 && pitch % 4 == 0;
}

static inline unsigned blocks_for(int64_t work, int64_t each)
{
    int64_t blocks = (work + each - 1) / each, most = MOST_BLOCKS;
    return (unsigned)(blocks < most ? blocks : most);
}

template <int N> struct number {
    enum { value = N };
};

/* f(a number of this type) */
template <typename F> static inline void with_type(launch_type type, F f)
{
    if (type == LAUNCH_BF16)
        f(bf16());
    else if (type == LAUNCH_F16)
        f(f16());
    else
        f(float());
}

/* f(a number of this type, one of the other): float and one of the halves may meet, not both halves
 */
template <typename F> static inline void with_types(launch_type type, launch_type other, F f)
{
    with_type(type, [&](auto a) {
        if (other == LAUNCH_F32)
            f(a, float());
        else if constexpr (sizeof a == sizeof(float))
            with_type(other, [&](auto b) { f(a, b); });
        else
            f(a, a);
    });
}

/* f(number of a row's threads, grid, block), for rows of n */
template <typename F> static inline void with_rows(int64_t rows, int64_t n, F f)
{
    if (n <= ROW_OF_WARP)
        f(number<32>(), dim3(blocks_for(rows, ROW_WARPS)), dim3(32, ROW_WARPS));
    else
        f(number<ROW_THREADS>(), dim3(blocks_for(rows, 1)), dim3(ROW_THREADS));
}

#endif
