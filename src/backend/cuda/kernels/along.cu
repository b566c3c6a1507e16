/*
 * Along one axis of [outer, axis, inner]: the position of the largest, and running sums. A line is
 * one (outer, inner); it has a thread, or a block. Floats are summed in double; a block takes a
 * line in tiles, so its sums have another order than the CPU's, always the same.
 */
#include "backend/cuda/kernels/along.h"
#include "backend/cuda/kernels/order.cuh"
#include "backend/cuda/kernels/scan.cuh"

enum { THREADS = 256, EACH = 4 };

/* Of a block of LANES threads a line: the line and where it begins. */
template <int LANES> static __device__ __forceinline__ int64_t line_of()
{
    return ((int64_t)blockIdx.x * THREADS + threadIdx.x) / LANES;
}
static __device__ __forceinline__ int64_t line_at(const launch_along_call &c, int64_t line)
{
    return line / c.inner * LD(c.axis) * c.inner + line % c.inner;
}

static unsigned blocks_of(const launch_along_call *c)
{
    int64_t lines = c->outer * c->inner;
    return (unsigned)(c->by_block ? lines : (lines + THREADS - 1) / THREADS);
}

/* The key of an element: larger is better. NaN is never better than another. */
template <typename T>
static __device__ __forceinline__ int64_t key_of(const launch_along_call &c, T x)
{
    int64_t key = order_of(x);
    if (x != x)
        return INT64_MIN;
    return c.smallest ? ~key : key;
}

/* The best position of a line, by all threads that share it: of several alike the first, or the
 * last. A line that begins with NaN stays there. */
template <int LANES, typename T>
static __device__ __forceinline__ int64_t best_position(const launch_along_call &c, const T *x)
{
    int64_t key = INT64_MIN, rank = INT64_MAX; /* positions from the end that is asked for */
    for (int64_t at = threadIdx.x % LANES; at < c.axis; at += LANES) {
        int64_t other = key_of(c, x[at * c.inner]), position = c.last ? c.axis - 1 - at : at;
        if (other > key || (other == key && position < rank)) {
            key = other;
            rank = position;
        }
    }
    if (LANES > 1) {
        int64_t top =
            block_fold<THREADS>(key, INT64_MIN, [](int64_t a, int64_t b) { return a > b ? a : b; });
        rank = block_fold<THREADS>(key == top ? rank : INT64_MAX, INT64_MAX,
                                   [](int64_t a, int64_t b) { return a < b ? a : b; });
    }
    return x[0] != x[0] ? 0 : c.last ? c.axis - 1 - rank : rank;
}

template <int LANES, typename T>
static KERNEL(THREADS, arg, int64_t *y, const T *x, launch_along_call c)
{
    int64_t line = line_of<LANES>();
    if (!IN(line < c.outer * c.inner))
        return;
    int64_t at = best_position<LANES>(c, x + line_at(c, line));
    if (threadIdx.x % LANES == 0)
        y[line] = at;
}

template <int LANES> static KERNEL(THREADS, hardmax, float *y, const float *x, launch_along_call c)
{
    int64_t line = line_of<LANES>();
    if (!IN(line < c.outer * c.inner))
        return;
    int64_t begin = line_at(c, line), top = best_position<LANES>(c, x + begin);
    for (int64_t at = threadIdx.x % LANES; at < c.axis; at += LANES)
        y[begin + at * c.inner] = at == top ? 1.0f : 0.0f;
}

/* Place number i in the order of the sum. */
static __device__ __forceinline__ int64_t step_at(const launch_along_call &c, int64_t i)
{
    return (c.reverse ? c.axis - 1 - i : i) * LD(c.inner);
}

template <typename T, typename WIDE>
static KERNEL(THREADS, running, T *y, const T *x, launch_along_call c)
{
    int64_t line = line_of<1>();
    if (!IN(line < c.outer * c.inner))
        return;
    WIDE sum = 0;
    y += line_at(c, line);
    x += line_at(c, line);
    for (int64_t i = 0; i < c.axis; i++) {
        WIDE before = sum;
        sum += (WIDE)x[step_at(c, i)];
        y[step_at(c, i)] = (T)(c.exclusive ? before : sum);
    }
}

template <typename T, typename WIDE>
static KERNEL(THREADS, running_by_block, T *y, const T *x, launch_along_call c)
{
    int64_t line = blockIdx.x;
    WIDE sum = 0;
    y += line_at(c, line);
    x += line_at(c, line);
    for (int64_t begin = 0; begin < c.axis; begin += THREADS * EACH) {
        int64_t first = begin + (int64_t)threadIdx.x * EACH;
        WIDE mine[EACH + 1] = {0}, all;
        for (int i = 0; i < EACH; i++)
            mine[i + 1] = mine[i] + (first + i < c.axis ? (WIDE)x[step_at(c, first + i)] : (WIDE)0);
        WIDE before = sum + block_before<THREADS>(mine[EACH], &all);
        for (int i = 0; i < EACH; i++)
            if (first + i < c.axis)
                y[step_at(c, first + i)] = (T)(before + (c.exclusive ? mine[i] : mine[i + 1]));
        sum += all;
    }
}

template <typename T>
static void launch_arg_of(cuda_stream stream, const launch_along_call *c, int64_t *y, const void *x)
{
    if (c->by_block)
        LAUNCH((arg<THREADS, T>), dim3(blocks_of(c)), dim3(THREADS), 0, stream, y, (const T *)x,
               *c);
    else
        LAUNCH((arg<1, T>), dim3(blocks_of(c)), dim3(THREADS), 0, stream, y, (const T *)x, *c);
}

void launch_arg(cuda_stream stream, const launch_along_call *c, int64_t *y, const void *x)
{
    if (c->outer * c->inner == 0)
        return;
    if (c->type == DT_F32)
        launch_arg_of<float>(stream, c, y, x);
    else if (c->type == DT_I64)
        launch_arg_of<int64_t>(stream, c, y, x);
    else
        launch_arg_of<int32_t>(stream, c, y, x);
}

void launch_hardmax(cuda_stream stream, const launch_along_call *c, float *y, const float *x)
{
    if (c->outer * c->inner == 0)
        return;
    if (c->by_block)
        LAUNCH(hardmax<THREADS>, dim3(blocks_of(c)), dim3(THREADS), 0, stream, y, x, *c);
    else
        LAUNCH(hardmax<1>, dim3(blocks_of(c)), dim3(THREADS), 0, stream, y, x, *c);
}

template <typename T, typename WIDE>
static void launch_sum_of(cuda_stream stream, const launch_along_call *c, void *y, const void *x)
{
    if (c->by_block)
        LAUNCH((running_by_block<T, WIDE>), dim3(blocks_of(c)), dim3(THREADS), 0, stream, (T *)y,
               (const T *)x, *c);
    else
        LAUNCH((running<T, WIDE>), dim3(blocks_of(c)), dim3(THREADS), 0, stream, (T *)y,
               (const T *)x, *c);
}

void launch_cum_sum(cuda_stream stream, const launch_along_call *c, void *y, const void *x)
{
    if (c->outer * c->inner == 0)
        return;
    if (c->type == DT_F32)
        launch_sum_of<float, double>(stream, c, y, x);
    else if (c->type == DT_I64)
        launch_sum_of<int64_t, uint64_t>(stream, c, y, x);
    else
        launch_sum_of<int32_t, uint64_t>(stream, c, y, x);
}
