/*
 * GroupNormalization and InstanceNormalization of [batch, channels, plane]: what a sample has of a
 * group is one row for the statistics, what it has of a channel one for the rest. The gradients of
 * scale and bias are sums over samples, in their order.
 */
#include "backend/cuda/kernels/group_norm.h"
#include "backend/cuda/kernels/norm.cuh"

enum { SAMPLE_THREADS = 256 };

template <typename T> struct group_moments : moments_fold<T> {
    float *mean, *inverse;
    float epsilon;

    __device__ __forceinline__ void put(int64_t k, moments s) const
    {
        mean[k] = mean_of(s);
        inverse[k] = 1.0f / sqrtf(spread_of(s) / s.count + epsilon);
    }
};

template <typename T> struct group_gradients : gradients_fold<const T *, stored_gradients<T>> {
    gradients *sums;

    __device__ __forceinline__ void put(int64_t k, gradients s) const
    {
        sums[k] = s;
    }
};

/* Rows one behind the other. */
static reduce_space rows_of(int64_t rows, int64_t n)
{
    reduce_space s = {};
    s.kept.rank = 1;
    s.kept.dim[0] = s.kept.count = rows;
    s.kept.stride[0] = s.last = n;
    s.reduced.count = 1;
    s.last_reduced = true;
    return s;
}

/* Of every channel of every sample. */
static KERNEL(SAMPLE_THREADS, forward_lines, channel_line *lines, const float *scale,
              const float *bias, const float *mean, const float *inverse, int64_t rows,
              int64_t channels, int64_t per_group)
{
    for (int64_t r = (int64_t)blockIdx.x * SAMPLE_THREADS + threadIdx.x; r < rows;
         r += (int64_t)gridDim.x * SAMPLE_THREADS) {
        int64_t group = r / per_group, c = r % channels;
        lines[r] = {mean[group], inverse[group] * scale[c], 0.0f, bias[c]};
    }
}

void launch_group_norm(cuda_stream stream, const launch_group_norm_call *c, void *y, float *mean,
                       float *inverse, const void *x, const float *scale, const float *bias)
{
    int64_t channels = c->groups * c->per_group, rows = c->batch * channels;
    reduce_space s = rows_of(c->batch * c->groups, c->per_group * c->plane);
    channel_line *lines = (channel_line *)c->lines;
    if (rows * c->plane == 0)
        return;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        const T *from = (const T *)x;
        bool aligned = rows_aligned((T *)y, c->plane) && rows_aligned(from, c->plane);
        group_moments<T> f = {{from, aligned}, mean, inverse, c->epsilon};
        fold(stream, &s, c->pieces, c->workspace, f);
        LAUNCH(forward_lines, dim3(blocks_for(rows, SAMPLE_THREADS)), dim3(SAMPLE_THREADS), 0,
               stream, lines, scale, bias, (const float *)mean, (const float *)inverse, rows,
               channels, c->per_group);
        map_rows(stream, forward_map<T *, const T *>{(T *)y, from, aligned}, lines, rows, c->plane,
                 rows);
    });
}

/* A warp a group of a sample. */
static KERNEL(32 * ROW_WARPS, backward_lines, channel_line *lines, const gradients *sums,
              const float *scale, const float *mean, const float *inverse, int64_t groups,
              int64_t all, int64_t per_group, double each)
{
    for (int64_t g = row_first(); g < all; g += row_step()) {
        const gradients *own = sums + g * LD(per_group);
        const float *by = scale + g % groups * per_group;
        double plain = 0.0, normal = 0.0;
        for (int64_t c = threadIdx.x; c < per_group; c += 32) {
            plain += (double)by[c] * (double)own[c].plain;
            normal += (double)by[c] * (double)own[c].normal;
        }
        plain = row_sum<32>(plain) * each;
        normal = row_sum<32>(normal) * each;
        double i = (double)inverse[g];
        for (int64_t c = threadIdx.x; c < per_group; c += 32)
            lines[g * per_group + c] = {mean[g], inverse[g] * by[c], (float)(i * i * i * normal),
                                        (float)(i * plain)};
    }
}

static KERNEL(SAMPLE_THREADS, sum_samples, float *dscale, float *dbias, const gradients *sums,
              const float *inverse, int64_t batch, int64_t channels, int64_t per_group)
{
    for (int64_t c = (int64_t)blockIdx.x * SAMPLE_THREADS + threadIdx.x; c < channels;
         c += (int64_t)gridDim.x * SAMPLE_THREADS) {
        double scale = 0.0, bias = 0.0;
        for (int64_t r = c; r < batch * channels; r += channels) {
            bias += (double)sums[r].plain;
            scale += (double)sums[r].normal * (double)inverse[r / per_group];
        }
        if (dscale)
            dscale[c] = (float)scale;
        if (dbias)
            dbias[c] = (float)bias;
    }
}

void launch_group_norm_bwd(cuda_stream stream, const launch_group_norm_call *c, void *dx,
                           float *dscale, float *dbias, const void *dy, const void *x,
                           const float *scale, const float *mean, const float *inverse)
{
    int64_t channels = c->groups * c->per_group, all = c->batch * c->groups;
    int64_t rows = c->batch * channels;
    reduce_space s = rows_of(rows, c->plane);
    channel_line *lines = (channel_line *)c->lines;
    gradients *sums = (gradients *)c->sums;
    if (rows * c->plane == 0)
        return;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        const T *d = (const T *)dy, *from = (const T *)x;
        bool aligned = rows_aligned((T *)dx, c->plane) && rows_aligned(d, c->plane) &&
                       rows_aligned(from, c->plane);
        group_gradients<T> f = {{{d, aligned}, from, mean, c->per_group, aligned}, sums};
        fold(stream, &s, c->pieces, c->workspace, f);
        LAUNCH(sum_samples, dim3(blocks_for(channels, SAMPLE_THREADS)), dim3(SAMPLE_THREADS), 0,
               stream, dscale, dbias, (const gradients *)sums, inverse, c->batch, channels,
               c->per_group);
        if (!dx)
            return;
        LAUNCH(backward_lines, dim3(blocks_for(all, ROW_WARPS)), dim3(32, ROW_WARPS), 0, stream,
               lines, (const gradients *)sums, scale, mean, inverse, c->groups, all, c->per_group,
               1.0 / (double)(c->per_group * c->plane));
        map_rows(stream, backward_map<T>{{(T *)dx, d, from, aligned}}, lines, rows, c->plane, rows);
    });
}
