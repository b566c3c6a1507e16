/*
 * What is put where indices say, with the CPU's bits: the picks of a row are combined by one group
 * of threads in the order of their positions. So that a group finds them they are sorted by row
 * (sort.cu); the group at the first of a row has them all.
 */
#include "backend/cuda/kernels/index.h"
#include "backend/cuda/kernels/positions.cuh"

static KERNEL(strips::THREADS, index_rows, uint32_t *rows, const void *indices, index_positions p,
              launch_fault fault)
{
    int64_t i = (int64_t)blockIdx.x * strips::THREADS + threadIdx.x;
    if (IN(i < p.count))
        rows[i] = (uint32_t)row_named(p, indices, i, fault);
}

void launch_index(cuda_stream stream, const index_positions *at, launch_fault fault, uint32_t *rows,
                  const void *indices)
{
    if (at->count == 0)
        return;
    unsigned blocks = (unsigned)((at->count + strips::THREADS - 1) / strips::THREADS);
    LAUNCH(index_rows, dim3(blocks), dim3(strips::THREADS), 0, stream, rows, indices, *at, fault);
}

/* y and x combined; the words of the CPU (backend/cpu/picks.c). */
template <launch_reduction R, typename T> static __device__ __forceinline__ T combined(T y, T x)
{
    switch (R) {
    case LAUNCH_ADD:
        return y + x;
    case LAUNCH_MUL:
        return y * x;
    case LAUNCH_MAX:
        return x > y || x != x ? x : y;
    case LAUNCH_MIN:
        return x < y || x != x ? x : y;
    default:
        return x;
    }
}

enum {
    AHEAD = 4,       /* picks that are fetched while others are combined */
    HOT_AHEAD = 16,  /* ... of a row that many positions name, and as many positions beyond these */
};

/* Picks of one row that are on their way: where the next ones lie, as long as they are its own. */
template <int N, typename T> struct picks_ahead {
    uint32_t at[N];
    bool are_there[N];
    T x[N];

    __device__ __forceinline__ void find(const uint32_t *sorted, const uint32_t *order, uint32_t row,
                                         int64_t first, int64_t n)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            are_there[i] = first + i < n && sorted[first + i] == row;
#pragma unroll
        for (int i = 0; i < N; i++)
            at[i] = are_there[i] ? order[first + i] : 0;
    }
    __device__ __forceinline__ void fetch(const T *picks, int64_t width)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            if (are_there[i])
                x[i] = picks[at[i] * width];
    }
};

template <launch_reduction R, int N, typename T>
static __device__ __forceinline__ T combine_some(T y, const picks_ahead<N, T> &p,
                                                 const bool *are_there)
{
#pragma unroll
    for (int i = 0; i < N; i++)
        if (are_there[i])
            y = combined<R>(y, p.x[i]);
    return y;
}

/* The rest of a row with many picks: while some are combined, it is found out where the next ones lie. */
template <launch_reduction R, typename T>
static __device__ __forceinline__ T combine_many(T y, const T *picks, int64_t width,
                                                 const uint32_t *sorted, const uint32_t *order,
                                                 int64_t first, int64_t n, uint32_t row)
{
    picks_ahead<HOT_AHEAD, T> p = {};
    p.find(sorted, order, row, first, n);
    while (p.are_there[0]) {
        bool are_there[HOT_AHEAD];
        p.fetch(picks, width);
#pragma unroll
        for (int i = 0; i < HOT_AHEAD; i++)
            are_there[i] = p.are_there[i];
        first += HOT_AHEAD;
        p.find(sorted, order, row, first, n);
        y = combine_some<R>(y, p, are_there);
    }
    return y;
}

/* A row's picks from `first` on, as long as they are its own, onto y. */
template <launch_reduction R, typename T>
static __device__ __forceinline__ T combine_all(T y, const T *picks, int64_t width,
                                                const uint32_t *sorted, const uint32_t *order,
                                                int64_t first, int64_t n)
{
    uint32_t row = sorted[first];
    picks_ahead<AHEAD, T> p = {};
    p.find(sorted, order, row, first, n);
    p.fetch(picks, width);
    y = combine_some<R>(y, p, p.are_there);
    if (p.are_there[AHEAD - 1])
        y = combine_many<R>(y, picks, width, sorted, order, first + AHEAD, n, row);
    return y;
}

template <launch_reduction R, typename T>
static KERNEL(strips::THREADS, put, T *y, const T *picks, const uint32_t *sorted,
              const uint32_t *order, int64_t outer, int64_t rows, int64_t n, int64_t width,
              int shift)
{
    int64_t pick = strip_row(shift);
    if (!IN(pick < outer * n))
        return;
    int64_t o = pick / n, first = pick % n;
    if (first > 0 && sorted[first - 1] == sorted[first])
        return;
    y += (o * LD(rows) + sorted[first]) * width;
    picks += o * n * LD(width);
    for (int64_t i = strip_begin(shift); i < width; i += strip_step(shift))
        y[i] = combine_all<R>(y[i], picks + i, width, sorted, order, first, n);
}

template <launch_reduction R, typename T>
static void launch(cuda_stream stream, const index_positions *at, void *y, const void *picks,
                   const uint32_t *sorted, const uint32_t *order)
{
    strips s = strips_of(at->outer * at->count, at->inner, 1);
    LAUNCH((put<R, T>), s.grid, dim3(strips::THREADS), 0, stream, (T *)y, (const T *)picks, sorted,
           order, at->outer, at->rows, at->count, at->inner, s.shift);
}

/* Whole numbers are added and multiplied modulo 2^32 and 2^64. */
template <typename T, typename MODULAR>
static void launch_typed(cuda_stream stream, const index_positions *at, launch_reduction r, void *y,
                         const void *picks, const uint32_t *sorted, const uint32_t *order)
{
    if (r == LAUNCH_ADD)
        launch<LAUNCH_ADD, MODULAR>(stream, at, y, picks, sorted, order);
    else if (r == LAUNCH_MUL)
        launch<LAUNCH_MUL, MODULAR>(stream, at, y, picks, sorted, order);
    else if (r == LAUNCH_MAX)
        launch<LAUNCH_MAX, T>(stream, at, y, picks, sorted, order);
    else
        launch<LAUNCH_MIN, T>(stream, at, y, picks, sorted, order);
}

static void launch_set(cuda_stream stream, const index_positions *at, size_t element, void *y,
                       const void *picks, const uint32_t *sorted, const uint32_t *order)
{
    if (element == 8)
        launch<LAUNCH_SET, uint64_t>(stream, at, y, picks, sorted, order);
    else if (element == 4)
        launch<LAUNCH_SET, uint32_t>(stream, at, y, picks, sorted, order);
    else if (element == 2)
        launch<LAUNCH_SET, uint16_t>(stream, at, y, picks, sorted, order);
    else
        launch<LAUNCH_SET, uint8_t>(stream, at, y, picks, sorted, order);
}

void launch_put(cuda_stream stream, const index_positions *at, launch_reduction r, dtype type,
                void *y, const void *picks, const uint32_t *sorted, const uint32_t *order)
{
    if (at->outer == 0 || at->count == 0 || at->inner == 0)
        return;
    if (r == LAUNCH_SET)
        launch_set(stream, at, dtype_bytes(type), y, picks, sorted, order);
    else if (type == DT_F32)
        launch_typed<float, float>(stream, at, r, y, picks, sorted, order);
    else if (type == DT_I64)
        launch_typed<int64_t, uint64_t>(stream, at, r, y, picks, sorted, order);
    else
        launch_typed<int32_t, uint32_t>(stream, at, r, y, picks, sorted, order);
}
