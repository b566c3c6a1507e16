/*
 * BatchNormalization of [n, channels, plane] or, with channels last, [n, plane, channels].
 */
#include "backend/cuda/kernels/batch_norm.h"
#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/norm.cuh"

enum { CHANNEL_THREADS = 256 };

template <typename T> struct batch_moments : moments_fold<T> {
    float *mean, *variance;

    __device__ __forceinline__ void put(int64_t k, moments s) const
    {
        mean[k] = mean_of(s);
        variance[k] = spread_of(s) / s.count;
    }
};

template <typename X, typename D> struct batch_gradients : gradients_fold<X, D> {
    float *dscale, *dbias;
    const float *variance;
    float epsilon;

    __device__ __forceinline__ void put(int64_t k, gradients s) const
    {
        dbias[k] = s.plain;
        dscale[k] = s.normal / sqrtf(variance[k] + epsilon);
    }
};

/* The axes but the channels'. */
static reduce_space space_of(const launch_batch_norm_call *c)
{
    reduce_space s = {};
    s.kept.count = s.reduced.count = 1;
    if (c->channels_last) {
        s.reduced.rank = 1;
        s.reduced.dim[0] = s.reduced.count = c->n * c->plane;
        s.reduced.stride[0] = s.last = c->channels;
        return s;
    }
    s.kept.rank = s.reduced.rank = 1;
    s.kept.dim[0] = s.kept.count = c->channels;
    s.kept.stride[0] = s.last = c->plane;
    s.reduced.dim[0] = s.reduced.count = c->n;
    s.reduced.stride[0] = c->channels * c->plane;
    s.last_reduced = true;
    return s;
}

void launch_batch_norm_statistics(cuda_stream stream, const launch_batch_norm_call *c, float *mean,
                                  float *variance, const void *x)
{
    reduce_space s = space_of(c);
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        batch_moments<T> f = {
            {(const T *)x, rows_aligned((const T *)x, s.last)}, mean, variance};
        fold(stream, &s, c->pieces, c->workspace, f);
    });
}

/* The channels of this thread. */
static __device__ __forceinline__ int64_t channel_first()
{
    return (int64_t)blockIdx.x * CHANNEL_THREADS + threadIdx.x;
}
static __device__ __forceinline__ int64_t channel_step()
{
    return (int64_t)gridDim.x * CHANNEL_THREADS;
}

/* `apart`: lines from a channel to the next. */
static KERNEL(CHANNEL_THREADS, forward_lines, channel_line *lines, int apart, const float *scale,
              const float *bias, const float *mean, const float *variance, int64_t channels,
              float epsilon)
{
    for (int64_t k = channel_first(); k < channels; k += channel_step())
        lines[k * apart] = {mean[k], scale[k] / sqrtf(variance[k] + epsilon), 0.0f, bias[k]};
}

/* `each`: 1 / the numbers of a channel, 0 where its statistics do not depend on them. */
static KERNEL(CHANNEL_THREADS, backward_lines, launch_batch_norm_call c, int apart,
              const float *scale, const float *mean, const float *variance, const float *dscale,
              const float *dbias, float each)
{
    channel_line *lines = (channel_line *)c.lines + (apart - 1);
    for (int64_t k = channel_first(); k < c.channels; k += channel_step()) {
        float inverse = 1.0f / sqrtf(variance[k] + c.epsilon), by = scale[k] * inverse;
        lines[k * apart] = {mean[k], by, dscale[k] * inverse * each * by, dbias[k] * each * by};
        if (c.share) {
            c.mean_share[k] = mean[k] * *c.share;
            c.variance_share[k] = variance[k] * *c.share;
        }
    }
}

/* A thread has the same four channels of all its rows, of which MAP_AHEAD are on their way at a time. */
template <typename M>
static KERNEL(FOLD_THREADS, map_channels, M map, const typename M::line *lines, int64_t rows,
              int64_t channels)
{
    int64_t i = 4 * ((int64_t)blockIdx.x * blockDim.x + threadIdx.x);
    typename M::line l[4] = {};
    for (int j = 0; j < 4; j++)
        if (IN(i + j < channels))
            l[j] = lines[i + j];
    int64_t step = (int64_t)gridDim.y * blockDim.y;
    for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows && i < channels;
         r += MAP_AHEAD * step) {
        typename M::piece ahead[MAP_AHEAD];
#pragma unroll
        for (int j = 0; j < MAP_AHEAD; j++)
            if (r + j * step < rows)
                ahead[j] = map.fetch((r + j * step) * LD(channels), i, channels);
#pragma unroll
        for (int j = 0; j < MAP_AHEAD; j++)
            if (r + j * step < rows)
                map.four(ahead[j], (r + j * step) * LD(channels), i, channels, l);
    }
}

enum { ROWS_OF_THREAD = 8 }; /* at least, so that reading the lines pays */

template <typename M>
static void map_all(cuda_stream stream, const launch_batch_norm_call *c, M map)
{
    const typename M::line *lines = (const typename M::line *)c->lines;
    if (c->n * c->channels * c->plane == 0)
        return;
    if (c->channels_last) {
        dim3 block = fold_block(c->channels);
        dim3 grid((unsigned)((c->channels + 4 * block.x - 1) / (4 * block.x)),
                  blocks_for(c->n * c->plane, ROWS_OF_THREAD * block.y));
        LAUNCH(map_channels<M>, grid, block, 0, stream, map, lines, c->n * c->plane, c->channels);
        return;
    }
    map_rows(stream, map, lines, c->n * c->channels, c->plane, c->channels);
}

/* What a chain makes of y as it is stored, or would be if others read it too. */
struct chained_map {
    typedef channel_line line;
    typedef any_stored piece;
    forward_map<any_floats, any_floats> map;
    dtype stored_as;
    light_chain chain;

    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return map.fetch(at, i, n);
    }
    __device__ __forceinline__ void four(const piece &p, int64_t at, int64_t i, int64_t n,
                                         const channel_line l[4]) const
    {
        quad q = map.make(p, l);
        if (map.y.x)
            quad_store(map.y + at, i, n, map.aligned, q);
        chain_round(q.v, stored_as);
        chain.behind(q.v, (uint32_t)(at + i), n - i);
    }
};

static int64_t row_of(const launch_batch_norm_call *c)
{
    return c->channels_last ? c->channels : c->plane;
}

static void map_behind(cuda_stream stream, const launch_batch_norm_call *c, void *y, const void *x,
                       bool aligned)
{
    static const dtype of[] = {DT_F32, DT_BF16, DT_F16}; /* launch_type */
    chained_map map = {{any_floats_of(y, c->type), any_floats_of(x, c->type), aligned},
                       of[c->type],
                       {chain_code_of(c->behind, row_of(c) % CHAIN_EACH == 0)}};
    map_all(stream, c, map);
}

void launch_batch_norm(cuda_stream stream, const launch_batch_norm_call *c, void *y, const void *x,
                       const float *scale, const float *bias, const float *mean,
                       const float *variance)
{
    if (c->channels == 0)
        return;
    LAUNCH(forward_lines, dim3(blocks_for(c->channels, CHANNEL_THREADS)), dim3(CHANNEL_THREADS), 0,
           stream, (channel_line *)c->lines, 1, scale, bias, mean, variance, c->channels,
           c->epsilon);
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        bool aligned = rows_aligned((T *)y, row_of(c)) && rows_aligned((const T *)x, row_of(c));
        if (c->behind)
            map_behind(stream, c, y, x, aligned);
        else
            map_all(stream, c, forward_map<T *, const T *>{(T *)y, (const T *)x, aligned});
    });
}

/* --- backward --- */

/* A channel's lines: the norm's, and its gradient's. */
struct both_lines {
    channel_line forward, backward;
};

/* The gradient through Relu of what the norm has made of x, as that is stored. */
template <typename T>
static __device__ __forceinline__ float gradient_of_relu(const channel_line &l, float x, float dy)
{
    return relu_bwd_at::of(dy, to_float(stored<T>(normalised(l, x))), 0.0f, 0.0f);
}

/* As stored_gradients. */
template <typename T> struct relu_gradients {
    const T *dy;
    const both_lines *lines;
    bool aligned;

    __device__ __forceinline__ float one(int64_t at, int64_t k, float x) const
    {
        return gradient_of_relu<T>(lines[k].forward, x, to_float(dy[at]));
    }
    typedef as_stored<4, T> piece;
    enum { AHEAD = sizeof(T) == sizeof(float) ? FOLD_AHEAD / 2 : FOLD_AHEAD }; /* what finds room in registers */
    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return stored_load<4>(dy + at, i, n, aligned);
    }
    __device__ __forceinline__ quad four(const piece &p, int64_t, int64_t i, int64_t n, const quad &x) const
    {
        quad d = floats_of(p);
        for (int j = 0; j < 4; j++)
            if (IN(i + j < n))
                d.v[j] = gradient_of_relu<T>(lines[i + j].forward, x.v[j], d.v[j]);
        return d;
    }
};

/* ... that a chain makes; by fours only. */
struct chained_gradients {
    light_chain chain;

    struct piece {
    };
    enum { AHEAD = FOLD_AHEAD };
    __device__ __forceinline__ piece fetch(int64_t, int64_t, int64_t) const
    {
        return {};
    }
    __device__ __forceinline__ quad four(piece, int64_t at, int64_t i, int64_t n, const quad &) const
    {
        quad d = {};
        chain.from_source(d.v, (uint32_t)(at + i), n - i);
        return d;
    }
};

template <typename T> struct relu_backward_map : gradient_map<T> {
    typedef both_lines line;

    __device__ __forceinline__ void four(const typename gradient_map<T>::piece &p, int64_t at, int64_t i,
                                         int64_t n, const both_lines l[4]) const
    {
        quad d = floats_of(p.dy), h = floats_of(p.x);
        for (int j = 0; j < 4; j++)
            d.v[j] = gradient_through(l[j].backward, h.v[j],
                                      gradient_of_relu<T>(l[j].forward, h.v[j], d.v[j]));
        quad_store(this->dx + at, i, n, this->aligned, d);
    }
};

/* What backward is told. */
struct backward_of {
    void *dx;
    float *dscale, *dbias;
    const void *dy, *x;
    const float *scale, *mean, *variance;
};

template <typename T>
static void sum_gradients(cuda_stream stream, const launch_batch_norm_call *c, const backward_of &b,
                          bool aligned)
{
    reduce_space s = space_of(c);
    bool means_too = aligned && rows_aligned(b.mean, 4);
    auto fold_of = [&](auto d, auto x) {
        return batch_gradients<decltype(x), decltype(d)>{
            {d, x, b.mean, 1, means_too}, b.dscale, b.dbias, b.variance, c->epsilon};
    };
    const T *dy = (const T *)b.dy, *x = (const T *)b.x;
    if (c->before)
        fold_across(
            stream, &s, c->pieces, c->workspace,
            fold_of(chained_gradients{{chain_code_of(c->before, c->channels % CHAIN_EACH == 0)}},
                    any_floats_of(b.x, c->type)));
    else if (c->relu_bias)
        fold(stream, &s, c->pieces, c->workspace,
             fold_of(relu_gradients<T>{dy, (const both_lines *)c->lines, aligned}, x));
    else
        fold(stream, &s, c->pieces, c->workspace, fold_of(stored_gradients<T>{dy, aligned}, x));
}

template <typename T>
static void backward(cuda_stream stream, const launch_batch_norm_call *c, const backward_of &b,
                     bool training)
{
    dim3 grid(blocks_for(c->channels, CHANNEL_THREADS)), block(CHANNEL_THREADS);
    channel_line *lines = (channel_line *)c->lines;
    float each = training ? 1.0f / (float)(c->n * c->plane) : 0.0f;
    const T *dy = (const T *)b.dy, *x = (const T *)b.x;
    T *dx = (T *)b.dx;
    bool aligned = rows_aligned(dy, row_of(c)) && rows_aligned(x, row_of(c));
    int apart = c->relu_bias ? 2 : 1;
    if (c->relu_bias)
        LAUNCH(forward_lines, grid, block, 0, stream, lines, apart, b.scale, c->relu_bias, b.mean,
               b.variance, c->channels, c->epsilon);
    sum_gradients<T>(stream, c, b, aligned);
    LAUNCH(backward_lines, grid, block, 0, stream, *c, apart, b.scale, b.mean, b.variance,
           (const float *)b.dscale, (const float *)b.dbias, each);
    aligned = aligned && rows_aligned(dx, 4);
    if (dx && c->relu_bias)
        map_all(stream, c, relu_backward_map<T>{{dx, dy, x, aligned}});
    else if (dx)
        map_all(stream, c, backward_map<T>{{dx, dy, x, aligned}});
}

void launch_batch_norm_bwd(cuda_stream stream, const launch_batch_norm_call *c, void *dx,
                           float *dscale, float *dbias, const void *dy, const void *x,
                           const float *scale, const float *mean, const float *variance,
                           bool training)
{
    backward_of b = {dx, dscale, dbias, dy, x, scale, mean, variance};
    if (c->channels > 0)
        with_type(c->type, [&](auto t) { backward<decltype(t)>(stream, c, b, training); });
}
