/*
 * Pooling. Forward an element of y is a thread's or, of large windows, a warp's, whose lanes take
 * taps in turn. Backward gathers: an element of dx goes through the windows that hold it, in
 * ascending order, so that nothing is added by two.
 */
#include "backend/cuda/kernels/pool.h"
#include "backend/cuda/kernels/rows.cuh"
#include "backend/lp.h"

enum { THREADS = 256, FEW_TAPS = 64, NO_TAP = 0x7fffffff };

static __host__ __device__ __forceinline__ int64_t elements(const int32_t size[POOL_AXES])
{
    return (int64_t)size[0] * size[1] * size[2];
}

/* An element of x or y: which of its plane, and where its channel begins there in x and in y. */
struct pool_position {
    int at[POOL_AXES];
    int64_t x, y;
};

/* Element `item` of what has planes of `size`. */
static __device__ __forceinline__ pool_position position_of(const launch_pool &p, int64_t item,
                                                            const int32_t size[POOL_AXES])
{
    int64_t channel = item % p.channels, plane = item / p.channels / elements(size);
    int rest = (int)(item / p.channels % elements(size));
    return {{rest / size[2] / size[1], rest / size[2] % size[1], rest % size[2]},
            plane * LD(elements(p.in) * p.channels) + channel,
            plane * LD(elements(p.out) * p.channels) + channel};
}

/* Element (a, b, c) of a plane, row-major. */
static __device__ __forceinline__ int64_t number_of(const int32_t size[POOL_AXES], int a, int b,
                                                    int c)
{
    return ((int64_t)a * size[1] + b) * size[2] + c;
}

/* Where that of a channel lies, from the channel's first on. */
static __device__ __forceinline__ int64_t offset_of(const launch_pool &p,
                                                    const int32_t size[POOL_AXES], int a, int b,
                                                    int c)
{
    return number_of(size, a, b, c) * LD(p.channels);
}

/* --- forward --- */

/* The taps of a window that there are, from one to the next. */
struct pool_taps {
    int corner[POOL_AXES]; /* of the window */
    int from[POOL_AXES], stop[POOL_AXES], at[POOL_AXES];
};

/* From tap `lane` of those there are on. */
static __device__ __forceinline__ pool_taps taps_of(const launch_pool &p, const int o[POOL_AXES],
                                                    int lane)
{
    pool_taps t;
    bool none = false;
#pragma unroll
    for (int i = 0; i < POOL_AXES; i++) {
        int gap = p.dilation[i];
        t.corner[i] = o[i] * p.stride[i] - p.begin[i];
        t.from[i] = t.corner[i] < 0 ? (gap - 1 - t.corner[i]) / gap : 0;
        int within = (p.in[i] - t.corner[i] + gap - 1) / gap;
        within = IN(within < p.kernel[i]) ? within : p.kernel[i];
        t.stop[i] = within > t.from[i] ? within : t.from[i];
        t.at[i] = t.from[i];
        none = none || t.stop[i] == t.from[i];
    }
    t.at[0] = none ? t.stop[0] : t.at[0];
    t.at[2] += none ? 0 : lane;
    return t;
}

/* Whether there is one more; after a step beyond the end of the last axis, in its place. */
static __device__ __forceinline__ bool taps_left(pool_taps &t)
{
    while (t.at[0] < t.stop[0] && t.at[2] >= t.stop[2]) {
        t.at[2] -= t.stop[2] - t.from[2];
        if (++t.at[1] == t.stop[1]) {
            t.at[1] = t.from[1];
            t.at[0]++;
        }
    }
    return t.at[0] < t.stop[0];
}

/* Where the element under the tap lies. */
static __device__ __forceinline__ int64_t taps_offset(const launch_pool &p, const pool_taps &t)
{
    return offset_of(p, p.in, t.corner[0] + t.at[0] * p.dilation[0],
                     t.corner[1] + t.at[1] * p.dilation[1], t.corner[2] + t.at[2] * p.dilation[2]);
}

/* What an average of window o is divided by. */
static __device__ __forceinline__ float divisor_of(const launch_pool &p, const int o[POOL_AXES])
{
    pool_taps t = taps_of(p, o, 0);
    float ret = 1.0f;
#pragma unroll
    for (int i = 0; i < POOL_AXES; i++) {
        int gap = p.dilation[i], within = (p.padded[i] - t.corner[i] + gap - 1) / gap;
        int counted = within < p.kernel[i] ? within : p.kernel[i];
        ret *= (float)(p.counts_padding ? counted : t.stop[i] - t.from[i]);
    }
    return ret;
}

/* The element of y that `lanes` threads make; spare threads make the last again. */
struct pool_item {
    pool_position position;
    int lane;
    bool writes;
};

static __device__ __forceinline__ pool_item item_of(const launch_pool &p, int lanes, int64_t total)
{
    int64_t item = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    bool there = IN(item < total);
    int lane = (int)threadIdx.x % lanes;
    return {position_of(p, there ? item : total - 1, p.out), lane, there && lane == 0};
}

static __device__ __forceinline__ int64_t y_of(const launch_pool &p, const pool_position &o)
{
    return o.y + offset_of(p, p.out, o.at[0], o.at[1], o.at[2]);
}

/* A number and its tap; with equals the earlier one counts. */
struct largest {
    float x;
    int tap;
};

static __device__ __forceinline__ largest larger(largest a, largest b)
{
    bool a_is_none = a.x != a.x, b_is_none = b.x != b.x;
    bool equal = a.x == b.x || (a_is_none && b_is_none);
    bool first = equal ? a.tap < b.tap : a_is_none || a.x > b.x;
    return first ? a : b;
}

static __device__ __forceinline__ largest largest_of_lanes(largest best)
{
#pragma unroll
    for (int half = 16; half > 0; half >>= 1)
        best = larger(best, {__shfl_xor_sync(0xffffffffu, best.x, half),
                             __shfl_xor_sync(0xffffffffu, best.tap, half)});
    return best;
}

/* Element `tap` of window o, in all of x. */
static __device__ __forceinline__ int64_t index_of(const launch_pool &p, const pool_position &o,
                                                   int tap)
{
    const int32_t *k = p.kernel;
    int taps[POOL_AXES] = {tap / k[2] / k[1], tap / k[2] % k[1], tap % k[2]}, at[POOL_AXES];
#pragma unroll
    for (int i = 0; i < POOL_AXES; i++)
        at[i] = o.at[i] * p.stride[i] - p.begin[i] + taps[i] * p.dilation[i];
    int64_t element = p.column_major ? ((int64_t)at[2] * p.in[1] + at[1]) * p.in[0] + at[0]
                                     : number_of(p.in, at[0], at[1], at[2]);
    return o.x + element;
}

template <typename T>
static KERNEL(THREADS, max_pool, launch_pool p, int lanes, int64_t total, T *y, void *taps,
              int64_t *indices, const T *x)
{
    pool_item item = item_of(p, lanes, total);
    const pool_position &o = item.position;
    largest best = {-INFINITY, NO_TAP};
    for (pool_taps t = taps_of(p, o.at, item.lane); taps_left(t); t.at[2] += lanes) {
        int tap = (t.at[0] * p.kernel[1] + t.at[1]) * p.kernel[2] + t.at[2];
        best = larger(best, {to_float(x[o.x + taps_offset(p, t)]), tap});
    }
    if (lanes > 1)
        best = largest_of_lanes(best);
    if (!item.writes)
        return;
    int64_t at = y_of(p, o);
    int tap = best.tap == NO_TAP ? 0 : best.tap;
    y[at] = stored<T>(best.x);
    if (taps && p.wide_taps)
        ((int32_t *)taps)[at] = tap;
    else if (taps)
        ((uint8_t *)taps)[at] = (uint8_t)tap;
    if (indices)
        indices[at] = index_of(p, o, tap);
}

template <typename T>
static KERNEL(THREADS, average_pool, launch_pool p, int lanes, int64_t total, T *y, const T *x)
{
    pool_item item = item_of(p, lanes, total);
    const pool_position &o = item.position;
    float sum = 0.0f;
    for (pool_taps t = taps_of(p, o.at, item.lane); taps_left(t); t.at[2] += lanes)
        sum += to_float(x[o.x + taps_offset(p, t)]);
    if (lanes > 1)
        sum = warp_sum(sum);
    if (item.writes)
        y[y_of(p, o)] = stored<T>(sum / divisor_of(p, o.at));
}

template <typename T>
static KERNEL(THREADS, lp_pool, launch_pool p, int lanes, int64_t total, T *y, const T *x)
{
    pool_item item = item_of(p, lanes, total);
    const pool_position &o = item.position;
    double sum = 0.0;
    for (pool_taps t = taps_of(p, o.at, item.lane); taps_left(t); t.at[2] += lanes)
        sum += lp_term(to_float(x[o.x + taps_offset(p, t)]), p.p);
    if (lanes > 1)
        sum = warp_fold(sum, [](double a, double b) { return a + b; });
    if (item.writes)
        y[y_of(p, o)] = stored<T>(lp_root(sum, p.p));
}

/* --- backward --- */

/* The windows that hold an element of x on one axis: from .. stop - 1. */
struct pool_windows {
    int from, stop;
};

static __device__ __forceinline__ pool_windows windows_of(const launch_pool &p, int i, int at)
{
    int last = at + p.begin[i], first = last - (p.kernel[i] - 1) * p.dilation[i];
    int stop = last / p.stride[i] + 1;
    return {first > 0 ? (first + p.stride[i] - 1) / p.stride[i] : 0,
            IN(stop < p.out[i]) ? stop : p.out[i]};
}

/* Which tap of window o of axis i the element is; -1: it lies between two. */
static __device__ __forceinline__ int tap_of(const launch_pool &p, int i, int at, int o)
{
    int from = at + p.begin[i] - o * p.stride[i];
    return from % p.dilation[i] == 0 ? from / p.dilation[i] : -1;
}

/* dx of an element: f(where window o is in y, o, the element's tap in it) of all windows that hold
 * it, added up. */
template <typename F>
static __device__ __forceinline__ float gather(const launch_pool &p, const pool_position &e, F f)
{
    pool_windows w[POOL_AXES];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < POOL_AXES; i++)
        w[i] = windows_of(p, i, e.at[i]);
    int o[POOL_AXES], tap[POOL_AXES];
    for (o[0] = w[0].from; o[0] < w[0].stop; o[0]++) {
        tap[0] = tap_of(p, 0, e.at[0], o[0]);
        for (o[1] = w[1].from; o[1] < w[1].stop && tap[0] >= 0; o[1]++) {
            tap[1] = tap_of(p, 1, e.at[1], o[1]);
            for (o[2] = w[2].from; o[2] < w[2].stop && tap[1] >= 0; o[2]++) {
                tap[2] = tap_of(p, 2, e.at[2], o[2]);
                if (tap[2] >= 0)
                    sum += f(e.y + offset_of(p, p.out, o[0], o[1], o[2]), o,
                             (tap[0] * p.kernel[1] + tap[1]) * p.kernel[2] + tap[2]);
            }
        }
    }
    return sum;
}

/* Which element of dx, which lies like x, is this thread's; false: none. */
static __device__ __forceinline__ bool element_of(int64_t total, int64_t *ret)
{
    *ret = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    return IN(*ret < total);
}

template <typename T>
static KERNEL(THREADS, max_pool_bwd, launch_pool p, int64_t total, T *dx, const T *dy,
              const void *taps)
{
    int64_t at;
    if (!element_of(total, &at))
        return;
    dx[at] = stored<T>(gather(p, position_of(p, at, p.in), [&](int64_t y, const int *, int tap) {
        int won = p.wide_taps ? ((const int32_t *)taps)[y] : ((const uint8_t *)taps)[y];
        return won == tap ? to_float(dy[y]) : 0.0f;
    }));
}

template <typename T>
static KERNEL(THREADS, average_pool_bwd, launch_pool p, int64_t total, T *dx, const T *dy)
{
    int64_t at;
    if (!element_of(total, &at))
        return;
    dx[at] = stored<T>(gather(p, position_of(p, at, p.in), [&](int64_t y, const int *o, int) {
        return to_float(dy[y]) / divisor_of(p, o);
    }));
}

template <typename T>
static KERNEL(THREADS, lp_pool_bwd, launch_pool p, int64_t total, T *dx, const T *dy, const T *x,
              const T *y)
{
    int64_t at;
    if (!element_of(total, &at))
        return;
    float own = to_float(x[at]);
    dx[at] = stored<T>(gather(p, position_of(p, at, p.in), [&](int64_t o, const int *, int) {
        return lp_gradient(to_float(dy[o]), own, to_float(y[o]), p.p);
    }));
}

/* --- launchers --- */

/* A launch over y: f(a number of its type, lanes, elements, grid). */
template <typename F> static void over_windows(const launch_pool *p, F f)
{
    int64_t total = p->planes * p->channels * elements(p->out);
    int lanes = elements(p->kernel) > FEW_TAPS ? 32 : 1;
    dim3 grid((unsigned)((total * lanes + THREADS - 1) / THREADS));
    if (total > 0)
        with_type(p->type, [&](auto t) { f(t, lanes, total, grid); });
}

/* A launch over dx: f(a number of its type, elements, grid). */
template <typename F> static void over_elements(const launch_pool *p, F f)
{
    int64_t total = p->planes * p->channels * elements(p->in);
    dim3 grid((unsigned)((total + THREADS - 1) / THREADS));
    if (total > 0)
        with_type(p->type, [&](auto t) { f(t, total, grid); });
}

void launch_max_pool(cuda_stream stream, const launch_pool *p, void *y, void *taps,
                     int64_t *indices, const void *x)
{
    over_windows(p, [&](auto t, int lanes, int64_t total, dim3 grid) {
        typedef decltype(t) T;
        LAUNCH(max_pool<T>, grid, dim3(THREADS), 0, stream, *p, lanes, total, (T *)y, taps, indices,
               (const T *)x);
    });
}

void launch_max_pool_bwd(cuda_stream stream, const launch_pool *p, void *dx, const void *dy,
                         const void *taps)
{
    over_elements(p, [&](auto t, int64_t total, dim3 grid) {
        typedef decltype(t) T;
        LAUNCH(max_pool_bwd<T>, grid, dim3(THREADS), 0, stream, *p, total, (T *)dx, (const T *)dy,
               taps);
    });
}

void launch_average_pool(cuda_stream stream, const launch_pool *p, void *y, const void *x)
{
    over_windows(p, [&](auto t, int lanes, int64_t total, dim3 grid) {
        typedef decltype(t) T;
        LAUNCH(average_pool<T>, grid, dim3(THREADS), 0, stream, *p, lanes, total, (T *)y,
               (const T *)x);
    });
}

void launch_average_pool_bwd(cuda_stream stream, const launch_pool *p, void *dx, const void *dy)
{
    over_elements(p, [&](auto t, int64_t total, dim3 grid) {
        typedef decltype(t) T;
        LAUNCH(average_pool_bwd<T>, grid, dim3(THREADS), 0, stream, *p, total, (T *)dx,
               (const T *)dy);
    });
}

void launch_lp_pool(cuda_stream stream, const launch_pool *p, void *y, const void *x)
{
    over_windows(p, [&](auto t, int lanes, int64_t total, dim3 grid) {
        typedef decltype(t) T;
        LAUNCH(lp_pool<T>, grid, dim3(THREADS), 0, stream, *p, lanes, total, (T *)y, (const T *)x);
    });
}

void launch_lp_pool_bwd(cuda_stream stream, const launch_pool *p, void *dx, const void *dy,
                        const void *x, const void *y)
{
    over_elements(p, [&](auto t, int64_t total, dim3 grid) {
        typedef decltype(t) T;
        LAUNCH(lp_pool_bwd<T>, grid, dim3(THREADS), 0, stream, *p, total, (T *)dx, (const T *)dy,
               (const T *)x, (const T *)y);
    });
}
