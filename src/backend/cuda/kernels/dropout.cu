/*
 * Dropout: four neighbours are a thread's, whose fates one block of Philox decides. The masks are
 * the CPU's, bit for bit, as are float32 results.
 */
#include "backend/cuda/kernels/dropout.h"
#include "backend/cuda/kernels/philox.cuh"
#include "backend/cuda/kernels/rows.cuh"

enum { DROP_THREADS = 256 };

template <typename T>
static KERNEL(DROP_THREADS, drop, T *y, uint8_t *mask, const T *x, int64_t n, launch_dropout d,
              bool aligned)
{
    philox stream = philox_of(d);
    for (int64_t q = (int64_t)blockIdx.x * DROP_THREADS + threadIdx.x; 4 * q < n;
         q += (int64_t)gridDim.x * DROP_THREADS) {
        uint32_t kept = philox_kept(stream, (uint64_t)q, d.threshold);
        quad v = quad_load(x, 4 * q, n, aligned);
        for (int j = 0; j < 4; j++)
            v.v[j] = kept >> j & 1 ? v.v[j] * d.scale : 0.0f;
        quad_store(y, 4 * q, n, aligned, v);
        for (int j = 0; j < 4 && mask; j++)
            if (IN(4 * q + j < n))
                mask[4 * q + j] = (uint8_t)(kept >> j & 1);
    }
}

template <typename X, typename Y>
static KERNEL(DROP_THREADS, drop_bwd, X *dx, const Y *dy, const uint8_t *mask, int64_t n,
              float scale, bool aligned)
{
    for (int64_t q = (int64_t)blockIdx.x * DROP_THREADS + threadIdx.x; 4 * q < n;
         q += (int64_t)gridDim.x * DROP_THREADS) {
        quad v = quad_load(dy, 4 * q, n, aligned);
        for (int j = 0; j < 4; j++) {
            bool kept = false;
            if (IN(4 * q + j < n))
                kept = mask[4 * q + j];
            v.v[j] = kept ? v.v[j] * scale : 0.0f;
        }
        quad_store(dx, 4 * q, n, aligned, v);
    }
}

static dim3 drop_grid(int64_t n)
{
    return dim3(blocks_for(n, 4 * DROP_THREADS));
}

void launch_drop(cuda_stream stream, launch_type type, void *y, uint8_t *mask, const void *x,
                 int64_t n, const launch_dropout *d)
{
    if (n == 0)
        return;
    with_type(type, [&](auto t) {
        typedef decltype(t) T;
        bool aligned = rows_aligned((T *)y, 4) && rows_aligned((const T *)x, 4);
        LAUNCH(drop<T>, drop_grid(n), dim3(DROP_THREADS), 0, stream, (T *)y, mask, (const T *)x, n,
               *d, aligned);
    });
}

void launch_drop_bwd(cuda_stream stream, launch_types t, void *dx, const void *dy,
                     const uint8_t *mask, int64_t n, float scale)
{
    if (n == 0)
        return;
    with_types(t.y, t.a, [&](auto x, auto y) {
        typedef decltype(x) X;
        typedef decltype(y) Y;
        bool aligned = rows_aligned((X *)dx, 4) && rows_aligned((const Y *)dy, 4);
        LAUNCH((drop_bwd<X, Y>), drop_grid(n), dim3(DROP_THREADS), 0, stream, (X *)dx,
               (const Y *)dy, mask, n, scale, aligned);
    });
}
