/*
 * Softmax and LogSoftmax over one axis, and their gradients. The tensor is [outer, axis, inner]:
 * rows where inner is 1, else a column is one thread's.
 */
#include "backend/cuda/kernels/softmax.cuh"
#include "backend/cuda/kernels/softmax.h"

enum { COLUMN_THREADS = 128 };

template <typename T>
static __device__ __forceinline__ float softmax_of(float x, measure m, float inverse, float log_sum,
                                                   bool log)
{
    return log ? (x - m.most) - log_sum : exp_below_as<T>(x - m.most) * inverse;
}

/* Backward. Where nothing flows back, nothing does through a row of NaN either: one that may look at
 * nothing. */
static __device__ __forceinline__ float share_of(float dy, float y, bool log)
{
    return log ? dy : (dy == 0.0f ? 0.0f : dy * y);
}

/* `sum`: of the shares */
static __device__ __forceinline__ float gradient_of(float dy, float y, float sum, bool log)
{
    float off = log ? sum : dy - sum;
    if (off == 0.0f)
        return log ? dy : 0.0f;
    return log ? dy - vec_exp(y) * sum : y * off;
}

template <typename T, int THREADS, bool KEEP>
static KERNEL(ROW_BLOCK<THREADS>, softmax_rows, T *y, const T *x, int64_t rows, int64_t n, bool log,
              bool aligned)
{
    for (int64_t r = row_first(); r < rows; r += row_step()) {
        row_reader<THREADS, KEEP, T> own(x + r * LD(n), n, aligned, -INFINITY);
        measure m = measure_row(own);
        float inverse = 1.0f / m.sum, log_sum = vec_log(m.sum);
        own.each([&](int64_t i, auto q) {
            for (int j = 0; j < ROW_EACH<T>; j++)
                q.v[j] = softmax_of<T>(q.v[j], m, inverse, log_sum, log);
            floats_store(y + r * n, i, n, aligned, q);
        });
    }
}

template <typename T>
static KERNEL(COLUMN_THREADS, softmax_columns, T *y, const T *x, int64_t outer, int64_t n,
              int64_t inner, bool log)
{
    for (int64_t c = (int64_t)blockIdx.x * COLUMN_THREADS + threadIdx.x; c < outer * inner;
         c += (int64_t)gridDim.x * COLUMN_THREADS) {
        int64_t at = c / inner * n * LD(inner) + c % inner;
        measure m = measure_column(x + at, n, inner);
        float inverse = 1.0f / m.sum, log_sum = vec_log(m.sum);
        for (int64_t i = 0; i < n; i++)
            y[at + i * inner] =
                stored<T>(softmax_of<T>(to_float(x[at + i * inner]), m, inverse, log_sum, log));
    }
}

template <typename T, int THREADS, bool KEEP>
static KERNEL(ROW_BLOCK<THREADS>, softmax_bwd_rows, T *dx, const T *dy, const T *y, int64_t rows,
              int64_t n, bool log, bool aligned)
{
    for (int64_t r = row_first(); r < rows; r += row_step()) {
        const T *own = y + r * LD(n);
        row_reader<THREADS, KEEP, T> gradient(dy + r * LD(n), n, aligned);
        float sum = 0.0f;
        gradient.each([&](int64_t i, const auto &d) {
            auto q = floats_load<ROW_EACH<T>>(own, i, n, aligned);
            for (int j = 0; j < ROW_EACH<T>; j++)
                sum += share_of(d.v[j], q.v[j], log);
        });
        sum = row_sum<THREADS>(sum);
        gradient.each([&](int64_t i, auto d) {
            auto q = floats_load<ROW_EACH<T>>(own, i, n, aligned);
            for (int j = 0; j < ROW_EACH<T>; j++)
                d.v[j] = gradient_of(d.v[j], q.v[j], sum, log);
            floats_store(dx + r * n, i, n, aligned, d);
        });
    }
}

template <typename T>
static KERNEL(COLUMN_THREADS, softmax_bwd_columns, T *dx, const T *dy, const T *y, int64_t outer,
              int64_t n, int64_t inner, bool log)
{
    for (int64_t c = (int64_t)blockIdx.x * COLUMN_THREADS + threadIdx.x; c < outer * inner;
         c += (int64_t)gridDim.x * COLUMN_THREADS) {
        int64_t at = c / inner * n * LD(inner) + c % inner;
        float sum = 0.0f;
        for (int64_t i = 0; i < n; i++)
            sum += share_of(to_float(dy[at + i * inner]), to_float(y[at + i * inner]), log);
        for (int64_t i = 0; i < n; i++)
            dx[at + i * inner] = stored<T>(
                gradient_of(to_float(dy[at + i * inner]), to_float(y[at + i * inner]), sum, log));
    }
}

void launch_softmax(cuda_stream stream, const launch_softmax_call *c, void *y, const void *x)
{
    if (c->outer * c->axis * c->inner == 0)
        return;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        T *to = (T *)y;
        const T *from = (const T *)x;
        constexpr int EACH = ROW_EACH<T>;
        bool aligned = rows_aligned<EACH>(to, c->axis) && rows_aligned<EACH>(from, c->axis);
        if (c->inner == 1)
            with_kept_rows(c->outer, c->axis, [&](auto threads, auto keep, dim3 grid, dim3 block) {
                LAUNCH((softmax_rows<T, decltype(threads)::value, decltype(keep)::value != 0>), grid,
                       block, 0, stream, to, from, c->outer, c->axis, c->log, aligned);
            });
        else
            LAUNCH(softmax_columns<T>, dim3(blocks_for(c->outer * c->inner, COLUMN_THREADS)),
                   dim3(COLUMN_THREADS), 0, stream, to, from, c->outer, c->axis, c->inner, c->log);
    });
}

void launch_softmax_bwd(cuda_stream stream, const launch_softmax_call *c, void *dx, const void *dy,
                        const void *y)
{
    if (c->outer * c->axis * c->inner == 0)
        return;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        T *to = (T *)dx;
        const T *gradient = (const T *)dy, *from = (const T *)y;
        constexpr int EACH = ROW_EACH<T>;
        bool aligned = rows_aligned<EACH>(to, c->axis) && rows_aligned<EACH>(gradient, c->axis) &&
                       rows_aligned<EACH>(from, c->axis);
        if (c->inner == 1)
            with_kept_rows(c->outer, c->axis, [&](auto threads, auto keep, dim3 grid, dim3 block) {
                LAUNCH((softmax_bwd_rows<T, decltype(threads)::value, decltype(keep)::value != 0>), grid,
                       block, 0, stream, to, gradient, from, c->outer, c->axis, c->log, aligned);
            });
        else
            LAUNCH(softmax_bwd_columns<T>, dim3(blocks_for(c->outer * c->inner, COLUMN_THREADS)),
                   dim3(COLUMN_THREADS), 0, stream, to, gradient, from, c->outer, c->axis, c->inner,
                   c->log);
    });
}
