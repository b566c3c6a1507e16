/*
 * Reductions: sums and what is made of them, extremes, products, and the logarithm of a sum of
 * exponentials; of whole numbers; and the gradient of a product.
 */
#include "backend/cuda/kernels/fold.cuh"

#include "backend/cuda/kernels/reduce.h"
#include "backend/math.h"
#include "backend/product.h"

/* What the folds here read and write. */
template <typename T> struct reduction {
    float *y;
    const T *x;
    launch_reduce_kind kind;
    float divisor; /* the mean's */
    bool aligned;
};

/* A fold whose numbers are taken one by one, by F::take(). */
template <typename F, typename S, typename T> struct plain_fold : reduction<T> {
    typedef S state;

    __device__ __forceinline__ void one(S *s, int64_t at, int64_t) const
    {
        F::take(s, to_float(this->x[at]), this->kind);
    }
    typedef as_stored<4, T> piece;
    enum { AHEAD = sizeof(S) == sizeof(float) ? (int)FOLD_AHEAD : 1 }; /* others have much to compute */
    __device__ __forceinline__ piece fetch(int64_t at, int64_t i, int64_t n) const
    {
        return stored_load<4>(this->x + at, i, n, this->aligned);
    }
    __device__ __forceinline__ void four(S s[4], const piece &p, int64_t, int64_t, int64_t,
                                         int64_t) const
    {
        quad q = floats_of(p);
        for (int j = 0; j < 4; j++)
            F::take(&s[j], q.v[j], this->kind);
    }
};

template <typename T> struct sum_fold : plain_fold<sum_fold<T>, float, T> {
    static __device__ __forceinline__ float none()
    {
        return 0.0f;
    }
    static __device__ __forceinline__ void take(float *s, float x, launch_reduce_kind kind)
    {
        if (kind == LAUNCH_REDUCE_L1)
            *s += vec_abs(x);
        else if (kind == LAUNCH_REDUCE_L2 || kind == LAUNCH_REDUCE_SUM_SQUARE)
            *s += x * x;
        else
            *s += x;
    }
    static __device__ __forceinline__ float join(float a, float b)
    {
        return a + b;
    }
    __device__ __forceinline__ void put(int64_t k, float s) const
    {
        if (this->kind == LAUNCH_REDUCE_MEAN)
            s = s / this->divisor;
        else if (this->kind == LAUNCH_REDUCE_L2)
            s = sqrtf(s);
        else if (this->kind == LAUNCH_REDUCE_LOG_SUM)
            s = vec_log(s);
        this->y[k] = s;
    }
};

/* The larger one; a not-a-number is larger than all. */
static __device__ __forceinline__ float larger(float a, float b)
{
    return b > a || b != b ? b : a;
}

/* The largest, or the largest negative. */
template <typename T> struct most_fold : plain_fold<most_fold<T>, float, T> {
    static __device__ __forceinline__ float none()
    {
        return -INFINITY;
    }
    static __device__ __forceinline__ void take(float *s, float x, launch_reduce_kind kind)
    {
        *s = larger(*s, kind == LAUNCH_REDUCE_MIN ? -x : x);
    }
    static __device__ __forceinline__ float join(float a, float b)
    {
        return larger(a, b);
    }
    __device__ __forceinline__ void put(int64_t k, float s) const
    {
        this->y[k] = this->kind == LAUNCH_REDUCE_MIN ? -s : s;
    }
};

template <typename T> struct product_fold : plain_fold<product_fold<T>, float, T> {
    static __device__ __forceinline__ float none()
    {
        return 1.0f;
    }
    static __device__ __forceinline__ void take(float *s, float x, launch_reduce_kind)
    {
        *s *= x;
    }
    static __device__ __forceinline__ float join(float a, float b)
    {
        return a * b;
    }
    __device__ __forceinline__ void put(int64_t k, float s) const
    {
        this->y[k] = s;
    }
};

/* The largest so far, and the sum of exp(x - largest). */
struct exponents {
    float most, sum;
};

template <typename T> struct log_sum_exp_fold : plain_fold<log_sum_exp_fold<T>, exponents, T> {
    static __device__ __forceinline__ exponents none()
    {
        return {-INFINITY, 0.0f};
    }
    static __device__ __forceinline__ float below(float x, float most)
    {
        return x == most ? 1.0f : vec_exp(x - most);
    }
    static __device__ __forceinline__ void take(exponents *s, float x, launch_reduce_kind)
    {
        *s = join(*s, {x, 1.0f});
    }
    static __device__ __forceinline__ exponents join(exponents a, exponents b)
    {
        float most = larger(a.most, b.most);
        return {most, a.sum * below(a.most, most) + b.sum * below(b.most, most)};
    }
    /* An infinite largest is the result itself. */
    __device__ __forceinline__ void put(int64_t k, exponents s) const
    {
        this->y[k] = s.most - s.most == 0.0f ? s.most + vec_log(s.sum) : s.most;
    }
};

template <template <typename> class F, typename T>
static void reduce(cuda_stream stream, const launch_reduce_call *c, float *y, const T *x)
{
    F<T> f = {};
    f.y = y;
    f.x = x;
    f.kind = c->kind;
    f.divisor = c->divisor;
    f.aligned = rows_aligned(x, c->space.last);
    fold(stream, &c->space, c->pieces, c->workspace, f);
}

void launch_reduce(cuda_stream stream, const launch_reduce_call *c, float *y, const void *x)
{
    if (c->kind == LAUNCH_REDUCE_MAX || c->kind == LAUNCH_REDUCE_MIN)
        reduce<most_fold>(stream, c, y, (const float *)x);
    else if (c->kind == LAUNCH_REDUCE_PROD)
        reduce<product_fold>(stream, c, y, (const float *)x);
    else if (c->kind == LAUNCH_REDUCE_LOG_SUM_EXP)
        reduce<log_sum_exp_fold>(stream, c, y, (const float *)x);
    else
        with_type(c->type, [&](auto t) { reduce<sum_fold>(stream, c, y, (const decltype(t) *)x); });
}

/* Whole numbers, short sums: a thread a result. Sums and products wrap around. */
template <typename T>
static KERNEL(FOLD_THREADS, reduce_whole, T *y, const T *x, reduce_space s, launch_reduce_kind kind)
{
    int64_t width = reduce_width(&s), depth = reduce_depth(&s);
    for (int64_t k = (int64_t)blockIdx.x * FOLD_THREADS + threadIdx.x; k < width;
         k += (int64_t)gridDim.x * FOLD_THREADS) {
        int64_t all = (int64_t)x[reduce_element(&s, k, 0)];
        for (int64_t i = 1; i < depth; i++) {
            int64_t one = (int64_t)x[reduce_element(&s, k, i)];
            if (kind == LAUNCH_REDUCE_MAX)
                all = one > all ? one : all;
            else if (kind == LAUNCH_REDUCE_MIN)
                all = one < all ? one : all;
            else if (kind == LAUNCH_REDUCE_PROD)
                all = (int64_t)((uint64_t)all * (uint64_t)one);
            else
                all = (int64_t)((uint64_t)all + (uint64_t)one);
        }
        y[k] = (T)all;
    }
}

void launch_reduce_whole(cuda_stream stream, const launch_reduce_call *c, void *y, const void *x,
                         bool wide)
{
    dim3 grid(blocks_for(reduce_width(&c->space), FOLD_THREADS)), block(FOLD_THREADS);
    if (reduce_width(&c->space) == 0)
        return;
    if (wide)
        LAUNCH(reduce_whole<int64_t>, grid, block, 0, stream, (int64_t *)y, (const int64_t *)x,
               c->space, c->kind);
    else
        LAUNCH(reduce_whole<int32_t>, grid, block, 0, stream, (int32_t *)y, (const int32_t *)x,
               c->space, c->kind);
}

template <int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, reduce_prod_bwd, float *dx, const float *dy, const float *x,
              reduce_space s)
{
    int64_t width = reduce_width(&s), depth = reduce_depth(&s);
    for (int64_t k = row_first(); k < width; k += row_step()) {
        factors all = {1.0, 0, 0, 0};
        for (int64_t i = threadIdx.x; i < depth; i += THREADS)
            factors_take(&all, (double)x[reduce_element(&s, k, i)]);
        all.product = row_fold<THREADS>(all.product, 1.0, [](double a, double b) { return a * b; });
        all.zeros = row_sum<THREADS>(all.zeros);
        all.infinities = row_sum<THREADS>(all.infinities);
        all.no_numbers = row_sum<THREADS>(all.no_numbers);
        all.product *= (double)dy[k];
        for (int64_t i = threadIdx.x; i < depth; i += THREADS) {
            int64_t at = reduce_element(&s, k, i);
            dx[at] = (float)factors_but(&all, (double)x[at]);
        }
    }
}

void launch_reduce_prod_bwd(cuda_stream stream, const reduce_space *s, float *dx, const float *dy,
                            const float *x)
{
    if (reduce_width(s) == 0 || reduce_depth(s) == 0)
        return;
    with_rows(reduce_width(s), reduce_depth(s), [&](auto threads, dim3 grid, dim3 block) {
        LAUNCH((reduce_prod_bwd<decltype(threads)::value>), grid, block, 0, stream, dx, dy, x, *s);
    });
}
