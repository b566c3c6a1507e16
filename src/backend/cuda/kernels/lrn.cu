/*
 * LRN over neighbouring channels of [batch, channels, plane], and its gradient, with the CPU's bits:
 * an element's sum runs over the channels in their order.
 */
#include "backend/cuda/kernels/lrn.h"
#include "backend/cuda/kernels/rows.cuh"

#include "backend/math.h"

enum { LRN_THREADS = 256 };

/* The channels first .. last that count about channel c, as they lie in memory. */
struct lrn_window {
    int64_t first, last;
};

static __device__ __forceinline__ lrn_window window_of(int64_t c, int64_t before, int64_t behind,
                                                       int64_t channels)
{
    return {c > before ? c - before : 0, c + behind < channels ? c + behind : channels - 1};
}

static KERNEL(LRN_THREADS, lrn, float *y, float *sum, const float *x, launch_lrn_call s)
{
    int64_t all = s.batch * s.channels * s.plane;
    for (int64_t e = (int64_t)blockIdx.x * LRN_THREADS + threadIdx.x; e < all;
         e += (int64_t)gridDim.x * LRN_THREADS) {
        int64_t c = e / s.plane % s.channels;
        lrn_window w = window_of(c, s.before, s.behind, s.channels);
        float squares = 0.0f;
        for (int64_t k = w.first; k <= w.last; k++) {
            float one = x[e + (k - c) * LD(s.plane)];
            squares += one * one;
        }
        float total = s.bias + s.alpha * squares;
        if (sum)
            sum[e] = total;
        y[e] = x[e] * vec_exp(-s.beta * vec_log(total));
    }
}

/* The channels that count this one lie the other way round. */
static KERNEL(LRN_THREADS, lrn_bwd, float *dx, const float *dy, const float *x, const float *y,
              const float *sum, launch_lrn_call s)
{
    int64_t all = s.batch * s.channels * s.plane;
    float factor = 2.0f * s.alpha * s.beta;
    for (int64_t e = (int64_t)blockIdx.x * LRN_THREADS + threadIdx.x; e < all;
         e += (int64_t)gridDim.x * LRN_THREADS) {
        int64_t c = e / s.plane % s.channels;
        lrn_window w = window_of(c, s.behind, s.before, s.channels);
        float shares = 0.0f;
        for (int64_t k = w.first; k <= w.last; k++) {
            int64_t at = e + (k - c) * LD(s.plane);
            shares += dy[at] * y[at] / sum[at];
        }
        dx[e] = dy[e] * vec_exp(-s.beta * vec_log(sum[e])) - factor * x[e] * shares;
    }
}

void launch_lrn(cuda_stream stream, const launch_lrn_call *c, float *y, float *sum, const float *x)
{
    int64_t all = c->batch * c->channels * c->plane;
    if (all > 0)
        LAUNCH(lrn, dim3(blocks_for(all, LRN_THREADS)), dim3(LRN_THREADS), 0, stream, y, sum, x,
               *c);
}

void launch_lrn_bwd(cuda_stream stream, const launch_lrn_call *c, float *dx, const float *dy,
                    const float *x, const float *y, const float *sum)
{
    int64_t all = c->batch * c->channels * c->plane;
    if (all > 0)
        LAUNCH(lrn_bwd, dim3(blocks_for(all, LRN_THREADS)), dim3(LRN_THREADS), 0, stream, dx, dy, x,
               y, sum, *c);
}
