/*
 * LayerNormalization and RMSNormalization. Forward a row is a warp's or a block's. Backward a block
 * takes a band of rows, one after the other, and each thread the same columns of all of them: the
 * gradients of scale and bias add up there, band by band, and the bands are added up as any rows are
 * (fold.cuh).
 */
#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/fold.cuh"
#include "backend/cuda/kernels/row_norm.h"

enum { HELD = 8 }; /* columns whose sums a thread keeps in registers */

/* What a thread reads of x, the chain in front has it write itself. */
template <typename X, typename Y, int THREADS, bool KEEP, typename C>
static KERNEL(ROW_BLOCK<THREADS>, row_norm, Y *y, float *mean, float *inverse, const X *x,
              const float *scale, const float *bias, int64_t rows, int64_t n, float epsilon,
              bool centred, bool aligned, C before)
{
    constexpr int EACH = ROW_EACH<X>;
    for (int64_t r = row_first(); r < rows; r += row_step()) {
        float m = 0.0f, squares = 0.0f;
        if constexpr (C::IS_THERE)
            for (int64_t i = 4 * (int64_t)threadIdx.x; i < n; i += 4 * THREADS) {
                quad made = {};
                before.from_source(made.v, (uint32_t)(r * n + i), n - i);
            }
        row_reader<THREADS, KEEP, X> own(x + r * LD(n), n, aligned);
        if (centred)
            own.each([&](int64_t, const auto &q) { m += floats_sum(q); });
        m = centred ? row_sum<THREADS>(m) / (float)n : 0.0f;
        own.each([&](int64_t i, const auto &q) {
            for (int j = 0; j < EACH; j++) {
                float apart = i + j < n ? q.v[j] - m : 0.0f;
                squares += apart * apart;
            }
        });
        float by = 1.0f / sqrtf(row_sum<THREADS>(squares) / (float)n + epsilon);
        own.each([&](int64_t i, auto q) {
            auto s = floats_load<EACH>(scale, i, n, aligned);
            floats<EACH> b = {};
            if (bias)
                b = floats_load<EACH>(bias, i, n, aligned);
            for (int j = 0; j < EACH; j++)
                q.v[j] = (q.v[j] - m) * by * s.v[j] + b.v[j];
            floats_store(y + r * LD(n), i, n, aligned, q);
        });
        if (threadIdx.x == 0 && mean)
            mean[r] = m;
        if (threadIdx.x == 0 && inverse)
            inverse[r] = by;
    }
}

void launch_row_norm(cuda_stream stream, const launch_row_norm_call *c, void *y, float *mean,
                     float *inverse, const void *x, const float *scale, const float *bias)
{
    if (c->rows * c->n == 0)
        return;
    with_types(c->x_type, c->y_type, [&](auto from, auto to) {
        typedef decltype(from) X;
        typedef decltype(to) Y;
        constexpr int EACH = ROW_EACH<X>;
        bool aligned = rows_aligned<EACH>((const X *)x, c->n) &&
                       rows_aligned<EACH>((const Y *)y, c->n) &&
                       rows_aligned<EACH>(scale, c->n) && rows_aligned<EACH>(bias, c->n);
        with_kept_rows(c->rows, c->n, [&](auto threads, auto keep, dim3 grid, dim3 block) {
            with_chain<X>(c->chain, c->n, [&](auto chain) {
                LAUNCH((row_norm<X, Y, decltype(threads)::value, decltype(keep)::value != 0,
                                 decltype(chain)>),
                       grid, block, 0, stream, (Y *)y, mean, inverse, (const X *)x, scale, bias,
                       c->rows, c->n, c->epsilon, c->centred, aligned, chain);
            });
        });
    });
}

/* What backward sums of a row: dy scale, and dy scale times the normalised x. */
struct gradients {
    float plain, normal;
};

/* Adds a row's columns to those of the band, which lie in memory: its first row begins them. */
template <int N>
static __device__ __forceinline__ void add_columns(float *band, int64_t i, int64_t n, bool aligned,
                                                   bool first, const floats<N> &q)
{
    floats<N> sum = {};
    if (!first)
        sum = floats_load<N>(band, i, n, aligned);
    for (int j = 0; j < N; j++)
        sum.v[j] += q.v[j];
    floats_store(band, i, n, aligned, sum);
}

/* What a thread has read of a row in GROUPS accesses: gradients, and x normalised. */
template <int GROUPS, int EACH> struct row_backward {
    floats<EACH> d[GROUPS], h[GROUPS];
};

/* D: a pointer. WIDE: a thread has more columns than it keeps in registers. */
template <typename X, typename D, int THREADS, bool WIDE, typename C>
static KERNEL(THREADS, row_norm_bwd, X *dx, float *dscale, float *dbias, D dy, const X *x,
              const float *scale, const float *mean, const float *inverse, int64_t rows,
              int64_t band, int64_t n, bool aligned, C behind)
{
    enum { EACH = ROW_EACH<X>, GROUPS = HELD / EACH, STEP = EACH * THREADS };
    typedef decltype(stored_load<EACH>(dy, 0, 0, true)) of_dy;
    int64_t first = blockIdx.x * band, stop = first + band < rows ? first + band : rows;
    floats<EACH> ds[GROUPS] = {}, db[GROUPS] = {};
    row_backward<GROUPS, EACH> row = {};
    dscale += blockIdx.x * LD(n);
    dbias += blockIdx.x * LD(n);
    for (int64_t r = first; r < stop; r++) {
        float m = mean ? mean[r] : 0.0f, by = inverse[r];
        gradients sum = {0.0f, 0.0f};
        auto take = [&](int k, int64_t i, const of_dy &d, const as_stored<EACH, X> &h) {
            row.d[k] = floats_of(d);
            row.h[k] = floats_of(h);
            for (int j = 0; j < EACH; j++)
                row.h[k].v[j] = aligned || i + j < n ? (row.h[k].v[j] - m) * by : 0.0f;
        };
        for (int64_t base = EACH * (int64_t)threadIdx.x; base < n; base += GROUPS * STEP) {
            of_dy d_ahead[GROUPS];
            as_stored<EACH, X> x_ahead[GROUPS];
#pragma unroll
            for (int k = 0; k < GROUPS; k++)
                if (base + k * STEP < n) {
                    d_ahead[k] = stored_load<EACH>(dy + r * n, base + k * STEP, n, aligned);
                    x_ahead[k] = stored_load<EACH>(x + r * n, base + k * STEP, n, aligned);
                }
#pragma unroll
            for (int k = 0; k < GROUPS; k++)
                if (base + k * STEP < n)
                    take(k, base + k * STEP, d_ahead[k], x_ahead[k]);
#pragma unroll
            for (int k = 0; k < GROUPS; k++) {
                int64_t i = base + k * STEP;
                if (i >= n)
                    break;
                auto s = floats_load<EACH>(scale, i, n, aligned);
                floats<EACH> d = row.d[k], h = row.h[k];
                for (int j = 0; j < EACH; j++) {
                    sum.plain += d.v[j] * s.v[j];
                    sum.normal += d.v[j] * s.v[j] * h.v[j];
                    h.v[j] *= d.v[j];
                    ds[k].v[j] += h.v[j];
                    db[k].v[j] += d.v[j];
                }
                if (WIDE) {
                    add_columns(dscale, i, n, aligned, r == first, h);
                    add_columns(dbias, i, n, aligned, r == first, d);
                }
            }
        }
        sum = row_fold<THREADS>(sum, {0.0f, 0.0f}, [](gradients a, gradients b) -> gradients {
            return {a.plain + b.plain, a.normal + b.normal};
        });
        sum.plain = mean ? sum.plain / (float)n : 0.0f;
        sum.normal /= (float)n;
        auto finish = [&](int k, int64_t i) {
            auto s = floats_load<EACH>(scale, i, n, aligned);
            floats<EACH> d = row.d[k];
            for (int j = 0; j < EACH; j++)
                d.v[j] = by * ((d.v[j] * s.v[j] - sum.plain) - row.h[k].v[j] * sum.normal);
            if (dx)
                floats_store(dx + r * n, i, n, aligned, d);
            if constexpr (C::IS_THERE)
                behind.behind(d.v, (uint32_t)(r * n + i), n - i);
        };
        if (!dx && !C::IS_THERE)
            continue;
        if (WIDE || C::IS_THERE) /* a chain is too long to be there several times */
            for (int64_t i = EACH * (int64_t)threadIdx.x; i < n; i += STEP) {
                take(0, i, stored_load<EACH>(dy + r * n, i, n, aligned),
                     stored_load<EACH>(x + r * n, i, n, aligned));
                finish(0, i);
            }
        else
#pragma unroll
            for (int k = 0; k < GROUPS; k++)
                if (EACH * (int64_t)threadIdx.x + k * STEP < n)
                    finish(k, EACH * (int64_t)threadIdx.x + k * STEP);
    }
#pragma unroll
    for (int k = 0; k < GROUPS; k++) {
        int64_t i = EACH * (int64_t)threadIdx.x + k * STEP;
        if (!WIDE && i < n) {
            floats_store(dscale, i, n, aligned, ds[k]);
            floats_store(dbias, i, n, aligned, db[k]);
        }
    }
}

/* What backward is told. */
struct backward_of {
    const float *scale, *mean, *inverse;
    bool aligned;
};

template <typename X, typename D, int THREADS, bool WIDE, typename C>
static void backward_by(cuda_stream stream, const launch_row_norm_call *c, const backward_of &b,
                        X *dx, D dy, const X *x, C behind)
{
    int64_t band = (c->rows + c->bands - 1) / c->bands;
    LAUNCH((row_norm_bwd<X, D, THREADS, WIDE, C>), dim3((unsigned)c->bands), dim3(THREADS), 0,
           stream, dx, c->workspace, c->workspace + c->bands * c->n, dy, x, b.scale, b.mean,
           b.inverse, c->rows, band, c->n, b.aligned, behind);
}

template <typename X, typename D, typename C>
static void backward(cuda_stream stream, const launch_row_norm_call *c, backward_of b, X *dx, D dy,
                     const X *x, C behind)
{
    constexpr int EACH = ROW_EACH<X>;
    auto *run = c->n <= HELD * 128   ? backward_by<X, D, 128, false, C>
                : c->n <= HELD * 512 ? backward_by<X, D, 512, false, C>
                                     : backward_by<X, D, 512, true, C>;
    b.aligned = b.aligned && rows_aligned<EACH>(dx, c->n) && rows_aligned<EACH>(x, c->n) &&
                rows_aligned<EACH>(b.scale, c->n) && rows_aligned<EACH>(c->workspace, c->n);
    run(stream, c, b, dx, dy, x, behind);
}

/* The sums of bands, [2,bands,n] in memory, as the gradients of scale and bias, or [1,bands,n] as the first. */
struct band_fold {
    typedef float state;
    const float *x;
    float *dscale, *dbias; /* or NULL */
    int64_t n;
    bool aligned;

    static __device__ __forceinline__ float none()
    {
        return 0.0f;
    }
    static __device__ __forceinline__ float join(float a, float b)
    {
        return a + b;
    }
    typedef quad piece;
    enum { AHEAD = FOLD_AHEAD };
    __device__ __forceinline__ quad fetch(int64_t at, int64_t i, int64_t count) const
    {
        return quad_load(x + at, i, count, aligned);
    }
    __device__ __forceinline__ void four(float s[4], const quad &q, int64_t, int64_t, int64_t,
                                         int64_t) const
    {
        for (int j = 0; j < 4; j++)
            s[j] += q.v[j];
    }
    __device__ __forceinline__ void put(int64_t k, float s) const
    {
        if (k < n && dscale)
            dscale[k] = s;
        if (k >= n)
            dbias[k - n] = s;
    }
};

static void sum_bands(cuda_stream stream, const launch_row_norm_call *c, float *dscale, float *dbias)
{
    reduce_space space = {};
    space.kept = {1, {2}, {c->bands * c->n}, dbias ? 2 : 1};
    space.reduced = {1, {c->bands}, {c->n}, c->bands};
    space.last = c->n;
    band_fold f = {};
    f.x = c->workspace;
    f.dscale = dscale;
    f.dbias = dbias;
    f.n = c->n;
    f.aligned = rows_aligned(c->workspace, c->n);
    if (dscale || dbias)
        fold_across(stream, &space, c->pieces, c->workspace + 2 * c->bands * c->n, f);
}

void launch_row_norm_bwd(cuda_stream stream, const launch_row_norm_call *c, void *dx, float *dscale,
                         float *dbias, const void *dy, const void *x, const float *scale,
                         const float *mean, const float *inverse)
{
    if (c->rows * c->n == 0)
        return;
    with_types(c->x_type, c->y_type, [&](auto from, auto to) {
        typedef decltype(from) X;
        typedef decltype(to) D;
        backward_of b = {scale, mean, inverse, rows_aligned<ROW_EACH<X>>((const D *)dy, c->n)};
        if (c->chain)
            backward(stream, c, b, (float *)dx, any_floats_of(dy, c->y_type), (const float *)x,
                     light_chain{chain_code_of(c->chain, c->n % CHAIN_EACH == 0)});
        else
            backward(stream, c, b, (X *)dx, (const D *)dy, (const X *)x, no_chain());
    });
    sum_bands(stream, c, dscale, dbias);
}
