/* One axis resized, or the gradient of that: a sparse matrix over [outer, n, inner] (graph/taps.h).
 * A sum goes over its taps in ascending order, as the CPU's. */
#include "backend/cuda/kernels/resample.h"
#include "backend/cuda/kernels/walk.cuh"

enum { THREADS = 256 };

static KERNEL(THREADS, resample, float *y, const float *x, launch_resample_call c, divider n_out,
              divider inner, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (!IN(i < n))
        return;
    uint32_t row = quotient(inner, i), column = i - row * inner.by;
    uint32_t outer = quotient(n_out, row), j = row - outer * n_out.by;
    const float *from = x + outer * LD(c.n_in * c.inner) + column;
    int64_t k = c.begin[j], end = c.begin[j + 1];
    float sum = c.outside;
    if (k < end)
        sum = c.weight[k] * from[c.at[k] * LD(c.inner)];
    if (c.adds_to_zero && k < end)
        sum = 0.0f + sum;
    for (k++; k < end; k++)
        sum += c.weight[k] * from[c.at[k] * LD(c.inner)];
    y[i] = sum;
}

void launch_resample(cuda_stream stream, const launch_resample_call *c, float *y, const float *x)
{
    int64_t plane = c->n_out * c->inner;
    if (plane == 0)
        return;
    int64_t most = plane < PIECE ? PIECE / plane : 1;
    for (int64_t begin = 0; begin < c->outer; begin += most) {
        int64_t planes = c->outer - begin < most ? c->outer - begin : most;
        uint32_t n = (uint32_t)(planes * plane);
        LAUNCH(resample, blocks_of(n, THREADS), dim3(THREADS), 0, stream, y + begin * plane,
               x + begin * c->n_in * c->inner, *c, divider_of(c->n_out), divider_of(c->inner), n);
    }
}
