/*
 * LayerNormalization and RMSNormalization. Forward a row is a warp's or a block's. Backward a block
 * takes a band of rows, one after the other, and each thread the same columns of all of them: the
 * gradients of scale and bias add up there, band by band, and the bands are summed in their order.
 */
#include "backend/cuda/kernels/chain.cuh"
#include "backend/cuda/kernels/reduce.h"
#include "backend/cuda/kernels/row_norm.h"
#include "backend/cuda/kernels/rows.cuh"

enum { HELD = 2 }; /* fours of columns whose sums a thread keeps in registers */

/* What a thread reads of x, the chain in front has it write itself. */
template <typename X, typename Y, int THREADS, typename C>
static KERNEL(ROW_BLOCK<THREADS>, row_norm, Y *y, float *mean, float *inverse, const X *x,
              const float *scale, const float *bias, int64_t rows, int64_t n, float epsilon,
              bool centred, bool aligned, C before)
{
    for (int64_t r = row_first(); r < rows; r += row_step()) {
        const X *own = x + r * LD(n);
        float m = 0.0f, squares = 0.0f;
        if constexpr (C::IS_THERE)
            for (int64_t i = 4 * (int64_t)threadIdx.x; i < n; i += 4 * THREADS) {
                quad made = {};
                before.from_source(made.v, (uint32_t)(r * n + i), n - i);
            }
        for (int64_t i = 4 * (int64_t)threadIdx.x; i < n && centred; i += 4 * THREADS) {
            quad q = quad_load(own, i, n, aligned);
            m += (q.v[0] + q.v[1]) + (q.v[2] + q.v[3]);
        }
        m = centred ? row_sum<THREADS>(m) / (float)n : 0.0f;
        for (int64_t i = 4 * (int64_t)threadIdx.x; i < n; i += 4 * THREADS) {
            quad q = quad_load(own, i, n, aligned, m);
            for (int j = 0; j < 4; j++)
                squares += (q.v[j] - m) * (q.v[j] - m);
        }
        float by = 1.0f / sqrtf(row_sum<THREADS>(squares) / (float)n + epsilon);
        for (int64_t i = 4 * (int64_t)threadIdx.x; i < n; i += 4 * THREADS) {
            quad q = quad_load(own, i, n, aligned), s = quad_load(scale, i, n, aligned);
            quad b = {{0.0f, 0.0f, 0.0f, 0.0f}};
            if (bias)
                b = quad_load(bias, i, n, aligned);
            for (int j = 0; j < 4; j++)
                q.v[j] = (q.v[j] - m) * by * s.v[j] + b.v[j];
            quad_store(y + r * LD(n), i, n, aligned, q);
        }
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
        bool aligned = rows_aligned((const X *)x, c->n) && rows_aligned((const Y *)y, c->n) &&
                       rows_aligned(scale, c->n) && rows_aligned(bias, c->n);
        with_rows(c->rows, c->n, [&](auto threads, dim3 grid, dim3 block) {
            with_chain<X>(c->chain, c->n, [&](auto chain) {
                LAUNCH((row_norm<X, Y, decltype(threads)::value, decltype(chain)>), grid, block, 0,
                       stream, (Y *)y, mean, inverse, (const X *)x, scale, bias, c->rows, c->n,
                       c->epsilon, c->centred, aligned, chain);
            });
        });
    });
}

/* What backward sums of a row: dy scale, and dy scale times the normalised x. */
struct gradients {
    float plain, normal;
};

/* Adds a row's four columns to those of the band, which lie in memory: its first row begins them.
 */
static __device__ __forceinline__ void add_four(float *band, int64_t i, int64_t n, bool aligned,
                                                bool first, const quad &q)
{
    quad sum = {{0.0f, 0.0f, 0.0f, 0.0f}};
    if (!first)
        sum = quad_load(band, i, n, aligned);
    for (int j = 0; j < 4; j++)
        sum.v[j] += q.v[j];
    quad_store(band, i, n, aligned, sum);
}

/* D: a pointer. WIDE: a thread has more columns than it keeps in registers. */
template <typename X, typename D, int THREADS, bool WIDE, typename C>
static KERNEL(THREADS, row_norm_bwd, X *dx, float *dscale, float *dbias, D dy, const X *x,
              const float *scale, const float *mean, const float *inverse, int64_t rows,
              int64_t band, int64_t n, bool aligned, C behind)
{
    enum { STEP = 4 * THREADS };
    int64_t first = blockIdx.x * band, stop = first + band < rows ? first + band : rows;
    quad ds[HELD] = {}, db[HELD] = {};
    dscale += blockIdx.x * LD(n);
    dbias += blockIdx.x * LD(n);
    for (int64_t r = first; r < stop; r++) {
        float m = mean ? mean[r] : 0.0f, by = inverse[r];
        gradients sum = {0.0f, 0.0f};
        for (int64_t base = 4 * (int64_t)threadIdx.x; base < n; base += HELD * STEP) {
#pragma unroll
            for (int k = 0; k < HELD; k++) {
                int64_t i = base + k * STEP;
                if (i >= n)
                    break;
                quad d = quad_load(dy + r * n, i, n, aligned), s = quad_load(scale, i, n, aligned);
                quad h = quad_load(x + r * n, i, n, aligned, m);
                for (int j = 0; j < 4; j++) {
                    h.v[j] = (h.v[j] - m) * by;
                    sum.plain += d.v[j] * s.v[j];
                    sum.normal += d.v[j] * s.v[j] * h.v[j];
                    h.v[j] *= d.v[j];
                    ds[k].v[j] += h.v[j];
                    db[k].v[j] += d.v[j];
                }
                if (WIDE) {
                    add_four(dscale, i, n, aligned, r == first, h);
                    add_four(dbias, i, n, aligned, r == first, d);
                }
            }
        }
        sum = row_fold<THREADS>(sum, {0.0f, 0.0f}, [](gradients a, gradients b) -> gradients {
            return {a.plain + b.plain, a.normal + b.normal};
        });
        sum.plain = mean ? sum.plain / (float)n : 0.0f;
        sum.normal /= (float)n;
        for (int64_t i = 4 * (int64_t)threadIdx.x; i < n && (dx || C::IS_THERE); i += STEP) {
            quad d = quad_load(dy + r * n, i, n, aligned), s = quad_load(scale, i, n, aligned);
            quad h = quad_load(x + r * n, i, n, aligned);
            for (int j = 0; j < 4; j++)
                d.v[j] = by * ((d.v[j] * s.v[j] - sum.plain) - (h.v[j] - m) * by * sum.normal);
            if (dx)
                quad_store(dx + r * n, i, n, aligned, d);
            if constexpr (C::IS_THERE)
                behind.behind(d.v, (uint32_t)(r * n + i), n - i);
        }
    }
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        int64_t i = 4 * (int64_t)threadIdx.x + k * STEP;
        if (!WIDE && i < n) {
            quad_store(dscale, i, n, aligned, ds[k]);
            quad_store(dbias, i, n, aligned, db[k]);
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
    auto *run = c->n <= 4 * HELD * 128   ? backward_by<X, D, 128, false, C>
                : c->n <= 4 * HELD * 512 ? backward_by<X, D, 512, false, C>
                                         : backward_by<X, D, 512, true, C>;
    b.aligned = b.aligned && rows_aligned(dx, c->n) && rows_aligned(x, c->n) &&
                rows_aligned(b.scale, c->n) && rows_aligned(c->workspace, c->n);
    run(stream, c, b, dx, dy, x, behind);
}

static void sum_bands(cuda_stream stream, float *y, const float *workspace, int64_t bands,
                      int64_t n)
{
    launch_reduce_call c = {};
    c.space.kept.count = 1;
    c.space.reduced = {1, {bands}, {n}, bands};
    c.space.last = n;
    c.kind = LAUNCH_REDUCE_SUM;
    c.type = LAUNCH_F32;
    c.pieces = 1;
    if (y)
        launch_reduce(stream, &c, y, workspace);
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
        backward_of b = {scale, mean, inverse, rows_aligned((const D *)dy, c->n)};
        if (c->chain)
            backward(stream, c, b, (float *)dx, any_floats_of(dy, c->y_type), (const float *)x,
                     light_chain{chain_code_of(c->chain, c->n % CHAIN_EACH == 0)});
        else
            backward(stream, c, b, (X *)dx, (const D *)dy, (const X *)x, no_chain());
    });
    sum_bands(stream, dscale, c->workspace, c->bands, c->n);
    sum_bands(stream, dbias, c->workspace + c->bands * c->n, c->bands, c->n);
}
