/*
 * The largest of some scores and the sum of exp(score - largest), in one reading: what Softmax and
 * the loss know of a row. A score of -infinity adds nothing, whatever came before it. T is the scores'.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_SOFTMAX_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_SOFTMAX_CUH

#include "backend/cuda/kernels/half_math.cuh"
#include "backend/cuda/kernels/rows.cuh"

struct measure {
    float most, sum;
};

template <typename T> __device__ __forceinline__ float exp_below(float x, float most)
{
    return x == -INFINITY ? 0.0f : exp_below_as<T>(x - most);
}

template <typename T> __device__ __forceinline__ measure measure_join(measure a, measure b)
{
    float most = b.most > a.most ? b.most : a.most;
    return {most, a.sum * exp_below<T>(a.most, most) + b.sum * exp_below<T>(b.most, most)};
}

/* With a few more numbers of the row. */
template <typename T, int N>
__device__ __forceinline__ measure measure_more(measure m, const floats<N> &q)
{
    float most = m.most;
    for (int j = 0; j < N; j++)
        most = q.v[j] > most ? q.v[j] : most;
    m.sum *= exp_below<T>(m.most, most);
    for (int j = 0; j < N; j++)
        m.sum += exp_below<T>(q.v[j], most);
    m.most = most;
    return m;
}

/* What the threads of a row have measured of it. */
template <int THREADS, typename T> __device__ __forceinline__ measure measure_of_row(measure m)
{
    return row_fold<THREADS>(m, {-INFINITY, 0.0f}, measure_join<T>);
}

/* Of one row by the threads that it has; beyond its end it is filled with -infinity. */
template <int THREADS, bool KEEP, typename T>
__device__ __forceinline__ measure measure_row(row_reader<THREADS, KEEP, T> &row)
{
    measure m = {-INFINITY, 0.0f};
    row.each([&](int64_t, const auto &q) { m = measure_more<T>(m, q); });
    return measure_of_row<THREADS, T>(m);
}

/* Of one column by one thread, `step` numbers from one entry to the next. */
template <typename T>
__device__ __forceinline__ measure measure_column(const T *x, int64_t n, int64_t step)
{
    measure m = {-INFINITY, 0.0f};
    for (int64_t i = 0; i < n; i++)
        m = measure_join<T>(m, {to_float(x[i * LD(step)]), 1.0f});
    return m;
}

#endif
