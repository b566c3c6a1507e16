/*
 * What is put where indices say, with the CPU's bits: the picks of a row are combined in segments
 * (backend/pick_order.h), each by one group of threads. So that a group finds them they are sorted by row
 * (sort.cu); the group at the first of a row has the row's first segment. Of further segments at most
 * one begins among the sorted positions from q PICK_SEGMENT to the next such edge, for its row
 * must have begun before: that one is number q's, and what it comes to lies in place q - 1 of `parts`. So the segments
 * of a row lie one behind the other, and a second kernel joins them.
 */
#include "backend/cuda/kernels/index.h"
#include "backend/cuda/kernels/positions.cuh"
#include "backend/cuda/kernels/sorted.cuh"
#include "backend/pick_order.h"

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
                                         int first, int n)
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
                                                 int first, int n, uint32_t row)
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

/* Up to n picks, as long as they are the row's, onto y. */
template <launch_reduction R, typename T>
static __device__ __forceinline__ T combine_all(T y, const T *picks, int64_t width,
                                                const uint32_t *sorted, const uint32_t *order,
                                                int n, uint32_t row)
{
    picks_ahead<AHEAD, T> p = {};
    p.find(sorted, order, row, 0, n);
    p.fetch(picks, width);
    y = combine_some<R>(y, p, p.are_there);
    if (p.are_there[AHEAD - 1])
        y = combine_many<R>(y, picks, width, sorted, order, AHEAD, n, row);
    return y;
}

/* The further segment of number q: where its row begins among the sorted, and where it does; -1 if there is none. */
struct segment_found {
    int64_t row_begin, begin;
};

static __device__ __forceinline__ segment_found find_segment(const uint32_t *sorted, int64_t n,
                                                             int64_t q)
{
    int64_t edge = q * PICK_SEGMENT;
    uint32_t row = sorted[edge];
    if (sorted[edge - 1] != row)
        return {-1, -1};
    int64_t row_begin = first_of(sorted, edge, row), begin = edge + row_begin % PICK_SEGMENT;
    return {row_begin, begin < n && sorted[begin] == row ? begin : -1};
}

/* What the kernels know of a call. */
struct put_shape {
    int64_t outer, rows, n, width, segments; /* the last: pick_segments_most(n) */
};

/* Groups 0 .. outer x segments - 1 have further segments, those behind them the positions. */
template <launch_reduction R, typename T>
static KERNEL(strips::THREADS, put, T *y, T *parts, const T *picks, const uint32_t *sorted,
              const uint32_t *order, put_shape s, int shift)
{
    int64_t group = strip_row(shift), further = s.outer * s.segments;
    bool is_first = group >= further;
    int64_t number = is_first ? group - further : group, each = is_first ? s.n : s.segments;
    if (!IN(number < s.outer * each))
        return;
    int64_t o = number / each, begin = number % each;
    if (is_first) {
        if (begin > 0 && sorted[begin - 1] == sorted[begin])
            return;
        y += (o * LD(s.rows) + sorted[begin]) * s.width;
    } else {
        begin = find_segment(sorted, s.n, begin + 1).begin;
        if (begin < 0)
            return;
        y = parts + group * LD(s.width);
    }
    int n = begin + PICK_SEGMENT < s.n ? (int)PICK_SEGMENT : (int)(s.n - begin);
    uint32_t row = sorted[begin], first = is_first ? 0 : order[begin];
    begin += !is_first;
    n -= !is_first;
    picks += o * s.n * LD(s.width);
    for (int64_t i = strip_begin(shift); i < s.width; i += strip_step(shift)) {
        T x = is_first ? y[i] : picks[first * s.width + i];
        y[i] = combine_all<R>(x, picks + i, s.width, sorted + begin, order + begin, n, row);
    }
}

enum {
    JOIN_COLUMNS = 32,
    JOIN_ROWS = 16, /* threads of a column */
    JOIN_EACH = 8,  /* segments of a thread */
    JOIN_BATCH = JOIN_ROWS * JOIN_EACH,
    JOIN_TOGETHER = 8, /* segments in which a block looks for second ones */
};

/* A column of a hot row: leaf 0 of its tree lies in y, the others in `parts`. */
template <typename T> struct leaves {
    T *y, *parts;
    int64_t width;

    __device__ __forceinline__ T &operator[](int64_t i) const
    {
        return i == 0 ? *y : parts[(i - 1) * LD(width)];
    }
};

/* The tree over n leaves, at most JOIN_BATCH, from `first` on; it goes to leaf `to`. All threads of the block; those
 * of a column that is not there look on. */
template <launch_reduction R, typename T>
static __device__ __forceinline__ void join_batch(const leaves<T> &leaf, int64_t first, int64_t n,
                                                  int64_t to, bool is_there,
                                                  T (*sums)[JOIN_COLUMNS])
{
    T x[JOIN_EACH] = {};
    int me = (int)threadIdx.y, column = (int)threadIdx.x, begin = me * JOIN_EACH;
#pragma unroll
    for (int i = 0; i < JOIN_EACH; i++)
        if (is_there && begin + i < n)
            x[i] = leaf[first + begin + i];
#pragma unroll
    for (int step = 1; step < JOIN_EACH; step *= 2)
#pragma unroll
        for (int i = 0; i < JOIN_EACH; i += 2 * step)
            if (begin + i + step < n)
                x[i] = combined<R>(x[i], x[i + step]);
    sums[me][column] = x[0];
    for (int step = 1; step < JOIN_ROWS; step *= 2) {
        __syncthreads();
        if (me % (2 * step) == 0 && begin + step * JOIN_EACH < n)
            sums[me][column] = combined<R>(sums[me][column], sums[me + step][column]);
    }
    if (me == 0 && is_there)
        leaf[to] = sums[0][column];
    __syncthreads(); /* the next one's sums take their places, and its leaves are these */
}

/* A bit for each of JOIN_TOGETHER further segments, from number q on, that may be its row's second. */
static __device__ __forceinline__ uint32_t second_segments(const uint32_t *sorted, int64_t q,
                                                           int64_t segments)
{
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < JOIN_TOGETHER; i++) {
        int64_t edge = (q + i) * PICK_SEGMENT, before = edge - PICK_SEGMENT - 1;
        if (q + i <= segments && sorted[edge - 1] == sorted[edge] &&
            (before < 0 || sorted[before] != sorted[edge]))
            bits |= 1u << i;
    }
    return bits;
}

/* Pieces of `size` that n items are. */
static __host__ __device__ inline int64_t count_by(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* Segments of rows with several become the row. */
template <launch_reduction R, typename T>
static KERNEL(JOIN_ROWS *JOIN_COLUMNS, join, T *y, T *parts, const uint32_t *sorted, put_shape s)
{
    SHARED(T, sums, [JOIN_ROWS][JOIN_COLUMNS]);
    int64_t across = count_by(s.segments, JOIN_TOGETHER), o = blockIdx.x / across;
    int64_t q = blockIdx.x % across * JOIN_TOGETHER + 1;
    for (uint32_t bits = second_segments(sorted, q, s.segments); bits; bits >>= 1, q++) {
        segment_found found = bits & 1 ? find_segment(sorted, s.n, q) : segment_found{-1, -1};
        if (found.begin < 0)
            continue;
        uint32_t row = sorted[found.begin];
        int64_t picks = first_of(sorted, s.n, (uint64_t)row + 1) - found.row_begin;
        for (int64_t strip = blockIdx.y; strip * JOIN_COLUMNS < s.width; strip += gridDim.y) {
            int64_t column = strip * JOIN_COLUMNS + threadIdx.x;
            leaves<T> leaf = {y + (o * LD(s.rows) + row) * s.width + column,
                              parts + (o * s.segments + q - 1) * LD(s.width) + column, s.width};
            for (int64_t n = count_by(picks, PICK_SEGMENT); n > 1; n = count_by(n, JOIN_BATCH))
                for (int64_t i = 0; i < count_by(n, JOIN_BATCH); i++)
                    join_batch<R>(leaf, i * JOIN_BATCH, n - i * JOIN_BATCH, i,
                                  IN(column < s.width), sums);
        }
    }
}

/* Where picks are put: what a launch needs of the caller's. */
struct put_call {
    const index_positions *at;
    void *y;
    const void *picks;
    const uint32_t *sorted, *order;
    void *parts;
};

template <launch_reduction R, typename T> static void launch(cuda_stream stream, const put_call &c)
{
    const index_positions *at = c.at;
    put_shape s = {at->outer, at->rows, at->count, at->inner, pick_segments_most(at->count)};
    strips p = strips_of(s.outer * (s.segments + s.n), s.width, 1);
    LAUNCH((put<R, T>), p.grid, dim3(strips::THREADS), 0, stream, (T *)c.y, (T *)c.parts,
           (const T *)c.picks, c.sorted, c.order, s, p.shift);
    if (s.segments == 0)
        return;
    int64_t across = count_by(s.segments, JOIN_TOGETHER);
    int64_t columns = count_by(s.width, JOIN_COLUMNS);
    LAUNCH((join<R, T>), dim3((unsigned)(s.outer * across), (unsigned)(columns < 65535 ? columns : 65535)),
           dim3(JOIN_COLUMNS, JOIN_ROWS), 0, stream, (T *)c.y, (T *)c.parts, c.sorted, s);
}

/* Whole numbers are added and multiplied modulo 2^32 and 2^64. */
template <typename T, typename MODULAR>
static void launch_typed(cuda_stream stream, launch_reduction r, const put_call &c)
{
    if (r == LAUNCH_ADD)
        launch<LAUNCH_ADD, MODULAR>(stream, c);
    else if (r == LAUNCH_MUL)
        launch<LAUNCH_MUL, MODULAR>(stream, c);
    else if (r == LAUNCH_MAX)
        launch<LAUNCH_MAX, T>(stream, c);
    else
        launch<LAUNCH_MIN, T>(stream, c);
}

static void launch_set(cuda_stream stream, size_t element, const put_call &c)
{
    if (element == 8)
        launch<LAUNCH_SET, uint64_t>(stream, c);
    else if (element == 4)
        launch<LAUNCH_SET, uint32_t>(stream, c);
    else if (element == 2)
        launch<LAUNCH_SET, uint16_t>(stream, c);
    else
        launch<LAUNCH_SET, uint8_t>(stream, c);
}

size_t launch_put_workspace_bytes(const index_positions *at, dtype type)
{
    return (size_t)(at->outer * pick_segments_most(at->count) * at->inner) * dtype_bytes(type);
}

void launch_put(cuda_stream stream, const index_positions *at, launch_reduction r, dtype type,
                void *y, const void *picks, const uint32_t *sorted, const uint32_t *order,
                void *workspace)
{
    put_call c = {at, y, picks, sorted, order, workspace};
    if (at->outer == 0 || at->count == 0 || at->inner == 0)
        return;
    if (r == LAUNCH_SET)
        launch_set(stream, dtype_bytes(type), c);
    else if (type == DT_F32)
        launch_typed<float, float>(stream, r, c);
    else if (type == DT_I64)
        launch_typed<int64_t, uint64_t>(stream, r, c);
    else
        launch_typed<int32_t, uint32_t>(stream, r, c);
}
