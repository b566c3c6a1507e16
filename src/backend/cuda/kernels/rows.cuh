/*
 * What kernels over rows share. A row is one warp's while it is short, else one block's; its
 * threads take a few neighbours each in turn: four, or what 16 bytes hold. So which numbers fall to a
 * thread, and with them the order of every sum, follows from the row's length and type alone.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ROWS_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_ROWS_CUH

#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/launch.h"

enum {
    ROW_OF_WARP = 1024, /* numbers of the longest row that a warp takes */
    ROW_WARPS = 4,      /* of a block, a row each */
    ROW_THREADS = 256,  /* of a block that takes one row */
    ROW_KEPT = 32,      /* numbers that a thread keeps of a row which it reads more than once */
    ROW_AHEAD = 4,      /* accesses of a row on their way at a time */
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

/* The numbers i .. i + N - 1 of n; those beyond are `fill`, and not stored. `aligned`: memory there may
 * be moved as a whole. */
template <int N> struct floats {
    float v[N];
};
typedef floats<4> quad;

template <int N, typename T>
__device__ __forceinline__ floats<N> floats_load(const T *x, int64_t i, int64_t n, bool aligned,
                                                 float fill = 0.0f)
{
    floats<N> q;
    if (aligned && i + N <= n) {
        load_vec<N>(q.v, x + i);
        return q;
    }
    for (int j = 0; j < N; j++) {
        q.v[j] = fill;
        if (IN(i + j < n))
            q.v[j] = to_float(x[i + j]);
    }
    return q;
}

template <int N, typename T>
__device__ __forceinline__ void floats_store(T *y, int64_t i, int64_t n, bool aligned,
                                             const floats<N> &q)
{
    if (aligned && i + N <= n) {
        store_vec<N>(y + i, q.v);
        return;
    }
    for (int j = 0; j < N; j++)
        if (IN(i + j < n))
            y[i + j] = stored<T>(q.v[j]);
}

/* The same as they lie in memory: who reads several of them before making floats of any has them all on their
 * way, where each would else be waited for in its turn. */
template <int N, typename T> struct as_stored {
    enum { BYTES = N * (int)sizeof(T) < 16 ? N * (int)sizeof(T) : 16, PIECES = N * (int)sizeof(T) / BYTES };
    typename access_of<BYTES>::type piece[PIECES];
};

template <int N, typename T>
__device__ __forceinline__ as_stored<N, T> stored_load(const T *x, int64_t i, int64_t n, bool aligned,
                                                       float fill = 0.0f)
{
    typedef as_stored<N, T> raw;
    raw s;
    if (aligned && i + N <= n) {
        CHECK_ALIGNED(x + i, raw::BYTES);
#pragma unroll
        for (int k = 0; k < raw::PIECES; k++)
            s.piece[k] = reinterpret_cast<const typename access_of<raw::BYTES>::type *>(x + i)[k];
        return s;
    }
    T v[N];
    for (int j = 0; j < N; j++) {
        v[j] = stored<T>(fill);
        if (IN(i + j < n))
            v[j] = x[i + j];
    }
    memcpy(&s, v, sizeof v);
    return s;
}

template <int N, typename T> __device__ __forceinline__ floats<N> floats_of(const as_stored<N, T> &s)
{
    T v[N];
    floats<N> q;
    memcpy(v, &s, sizeof v);
#pragma unroll
    for (int j = 0; j < N; j++)
        q.v[j] = to_float(v[j]);
    return q;
}

template <typename T>
__device__ __forceinline__ quad quad_load(const T *x, int64_t i, int64_t n, bool aligned,
                                          float fill = 0.0f)
{
    return floats_load<4>(x, i, n, aligned, fill);
}
template <typename T>
__device__ __forceinline__ void quad_store(T *y, int64_t i, int64_t n, bool aligned, const quad &q)
{
    floats_store(y, i, n, aligned, q);
}

/* The sum of a few, pairwise. */
template <int N> __device__ __forceinline__ float floats_sum(const floats<N> &q)
{
    float sum[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        sum[j] = q.v[j];
#pragma unroll
    for (int step = 1; step < N; step *= 2)
#pragma unroll
        for (int j = 0; j < N; j += 2 * step)
            sum[j] += sum[j + step];
    return sum[0];
}

/* How many numbers of type T one access takes. */
template <typename T> constexpr int ROW_EACH = 16 / (int)sizeof(T);

/* A row of n numbers as one of its THREADS threads sees it, in accesses of 16 bytes, of which several are on
 * their way at a time. KEEP: the row is no longer than ROW_KEPT numbers a thread, which stay in registers. */
template <int THREADS, bool KEEP, typename T> struct row_reader {
    enum { EACH = ROW_EACH<T>, AHEAD = KEEP ? ROW_KEPT / EACH : ROW_AHEAD, STEP = THREADS * EACH };
    typedef floats<EACH> group;
    const T *x;
    int64_t n;
    bool aligned;
    float fill;
    group kept[AHEAD];

    __device__ __forceinline__ void load(int64_t base)
    {
        if constexpr (sizeof(T) == sizeof(float)) { /* nothing is made of them: registers for both would spill */
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (base + k * STEP < n)
                    kept[k] = floats_load<EACH>(x, base + k * STEP, n, aligned, fill);
        } else {
            as_stored<EACH, T> ahead[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (base + k * STEP < n)
                    ahead[k] = stored_load<EACH>(x, base + k * STEP, n, aligned, fill);
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (base + k * STEP < n)
                    kept[k] = floats_of(ahead[k]);
        }
    }
    __device__ __forceinline__ row_reader(const T *x_, int64_t n_, bool aligned_, float fill_ = 0.0f)
        : x(x_), n(n_), aligned(aligned_), fill(fill_)
    {
        if (KEEP)
            load(EACH * (int64_t)threadIdx.x);
    }
    /* f(i, the numbers from i on) in ascending order */
    template <typename F> __device__ __forceinline__ void each(F f)
    {
        for (int64_t base = EACH * (int64_t)threadIdx.x; base < n; base += AHEAD * STEP) {
            if (!KEEP)
                load(base);
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (base + k * STEP < n)
                    f(base + k * STEP, kept[k]);
            if (KEEP)
                return;
        }
    }
};

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

/* As as_stored: halves fill its first half. */
struct any_stored {
    as_stored<4, float> bits;
    launch_type type;
};

template <int N>
__device__ __forceinline__ any_stored stored_load(any_floats a, int64_t i, int64_t n, bool aligned)
{
    any_stored s = {{}, a.type};
    if (a.type == LAUNCH_F32) {
        s.bits = stored_load<N>((const float *)a.x, i, n, aligned);
    } else {
        as_stored<N, bf16> halves = stored_load<N>((const bf16 *)a.x, i, n, aligned);
        memcpy(&s.bits, &halves, sizeof halves);
    }
    return s;
}

template <typename T> __device__ __forceinline__ quad floats_of_halves(const any_stored &s)
{
    as_stored<4, T> halves;
    memcpy(&halves, &s.bits, sizeof halves);
    return floats_of(halves);
}

__device__ __forceinline__ quad floats_of(const any_stored &s)
{
    if (s.type == LAUNCH_F32)
        return floats_of(s.bits);
    return s.type == LAUNCH_BF16 ? floats_of_halves<bf16>(s) : floats_of_halves<f16>(s);
}

/* What reading four numbers of these gives; X: a pointer, or any_floats. */
template <typename X> using stored_quad = decltype(stored_load<4>(X(), 0, 0, true));

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

/* Whether rows that begin `pitch` numbers apart can be moved by groups of N. */
template <int N = 4, typename T> static inline bool rows_aligned(const T *x, int64_t pitch)
{
    size_t bytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16;
    return (uintptr_t)x % bytes == 0 && pitch % N == 0;
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

/* The same of rows that threads read more than once: f(threads, whether they keep the row, grid, block) */
template <typename F> static inline void with_kept_rows(int64_t rows, int64_t n, F f)
{
    with_rows(rows, n, [&](auto threads, dim3 grid, dim3 block) {
        if constexpr (decltype(threads)::value == 32)
            f(threads, number<1>(), grid, block);
        else if (n <= ROW_KEPT * ROW_THREADS)
            f(threads, number<1>(), grid, block);
        else
            f(threads, number<0>(), grid, block);
    });
}

#endif
