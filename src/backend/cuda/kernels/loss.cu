/*
 * SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss, their gradients, and Accuracy. Scores are
 * [n, classes, inner]; a row is one (n, inner). Of a softmax only two numbers a row are kept, its
 * largest score and the logarithm of its sum: probabilities lie nowhere. What is summed over rows
 * is summed in double, within pieces of rows, then over the pieces in their order.
 */
#include "backend/cuda/kernels/loss.h"
#include "backend/cuda/kernels/softmax.cuh"

#include <limits.h>

enum { LOSS_THREADS = 256 };

/* Where a row's scores begin, and where the label's own stands. */
static __device__ __forceinline__ int64_t row_begin(const launch_loss_call *c, int64_t row)
{
    if (c->inner == 1)
        return row * LD(c->pitch);
    return row / c->inner * c->classes * c->inner + row % c->inner;
}

static __device__ __forceinline__ int64_t label_of(const launch_loss_call *c, int64_t row)
{
    return c->narrow ? ((const int32_t *)c->labels)[row] : ((const int64_t *)c->labels)[row];
}

/* The weight a row counts with: 0 for an ignored one, and for a label that is no class. */
static __device__ __forceinline__ float weight_of(const launch_loss_call *c, int64_t label)
{
    if ((c->has_ignore && label == c->ignore) || label < 0 || label >= c->classes)
        return 0.0f;
    return c->weights ? c->weights[label] : 1.0f;
}

static __device__ __forceinline__ void check_label(const launch_loss_call *c, int64_t row)
{
    int64_t label = label_of(c, row);
    if ((label < 0 || label >= c->classes) && !(c->has_ignore && label == c->ignore))
        atomic_min_u64(c->fault, c->fault_node | (uint64_t)row);
}

template <typename T, int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, measure_rows, float *most, float *log_sum, const T *x,
              launch_loss_call c, bool aligned)
{
    for (int64_t r = row_first(); r < c.n; r += row_step()) {
        row_reader<THREADS, false, T> row(x + row_begin(&c, r), c.classes, aligned, -INFINITY);
        measure m = measure_row(row);
        if (threadIdx.x == 0) {
            most[r] = m.most;
            log_sum[r] = vec_log(m.sum);
        }
    }
}

template <typename T>
static KERNEL(LOSS_THREADS, measure_columns, float *most, float *log_sum, const T *x,
              launch_loss_call c)
{
    for (int64_t r = (int64_t)blockIdx.x * LOSS_THREADS + threadIdx.x; r < c.n * c.inner;
         r += (int64_t)gridDim.x * LOSS_THREADS) {
        measure m = measure_column(x + row_begin(&c, r), c.classes, c.inner);
        most[r] = m.most;
        log_sum[r] = vec_log(m.sum);
    }
}

/* The logarithm of the row's probability of its label. */
template <typename T>
static __device__ __forceinline__ float own_of(const launch_loss_call *c, const T *x, int64_t row,
                                               const float *most, const float *log_sum)
{
    float own = to_float(x[row_begin(c, row) + label_of(c, row) * c->inner]);
    return c->log_probs ? own : (own - most[row]) - log_sum[row];
}

/* workspace[piece] = the sum of the piece's losses and that of its weights. x NULL: those of the
 * labels are `own`; without these too, of the weights. */
template <typename T>
static KERNEL(LOSS_THREADS, sum_rows, float *loss, double *workspace, const T *x, const float *own,
              const float *most, const float *log_sum, launch_loss_call c, int64_t piece)
{
    int64_t first = blockIdx.x * piece, rows = c.n * c.inner;
    int64_t stop = first + piece < rows ? first + piece : rows;
    double sum = 0.0, weights = 0.0;
    for (int64_t r = first + threadIdx.x; r < stop; r += LOSS_THREADS) {
        check_label(&c, r);
        float w = weight_of(&c, label_of(&c, r)), one = 0.0f;
        if (w != 0.0f && (x || own))
            one = -w * (x ? own_of(&c, x, r, most, log_sum) : own[r]);
        if (c.reduction == LAUNCH_LOSS_NONE && loss)
            loss[r] = one;
        sum += (double)one;
        weights += (double)w;
    }
    sum = row_sum<LOSS_THREADS>(sum);
    weights = row_sum<LOSS_THREADS>(weights);
    if (threadIdx.x == 0) {
        workspace[2 * blockIdx.x] = sum;
        workspace[2 * blockIdx.x + 1] = weights;
    }
}

/* Of all pieces the loss, where one is wanted, and behind them the sum of weights: every 32nd is a lane's, and the
 * lanes are joined by a tree. */
static KERNEL(32, sum_pieces, float *loss, double *workspace, int pieces,
              launch_loss_reduction kind)
{
    double sum = 0.0, weights = 0.0;
    for (int i = (int)threadIdx.x; i < pieces; i += 32) {
        sum += workspace[2 * i];
        weights += workspace[2 * i + 1];
    }
    sum = row_sum<32>(sum);
    weights = row_sum<32>(weights);
    if (threadIdx.x != 0)
        return;
    workspace[2 * pieces] = weights;
    if (loss)
        *loss = (float)(kind == LAUNCH_LOSS_MEAN ? sum / weights : sum);
}

/* loss NULL: of the weights alone. */
template <typename T>
static void add_rows(cuda_stream stream, const launch_loss_call *c, float *loss, const T *x,
                     const float *own, const float *most, const float *log_sum)
{
    int64_t piece = (c->n * c->inner + c->pieces - 1) / c->pieces;
    float *one = c->reduction != LAUNCH_LOSS_NONE ? loss : NULL;
    LAUNCH(sum_rows<T>, dim3((unsigned)c->pieces), dim3(LOSS_THREADS), 0, stream, loss,
           c->workspace, x, own, most, log_sum, *c, piece);
    LAUNCH(sum_pieces, dim3(1), dim3(32), 0, stream, one, c->workspace, c->pieces, c->reduction);
}

void launch_loss(cuda_stream stream, const launch_loss_call *c, float *loss, float *most,
                 float *log_sum, const void *scores)
{
    int64_t rows = c->n * c->inner;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        const T *x = (const T *)scores;
        if (!c->log_probs && rows > 0 && c->inner == 1)
            with_rows(rows, c->classes, [&](auto threads, dim3 grid, dim3 block) {
                LAUNCH((measure_rows<T, decltype(threads)::value>), grid, block, 0, stream, most,
                       log_sum, x, *c, rows_aligned<ROW_EACH<T>>(x, c->pitch));
            });
        else if (!c->log_probs && rows > 0)
            LAUNCH(measure_columns<T>, dim3(blocks_for(rows, LOSS_THREADS)), dim3(LOSS_THREADS), 0,
                   stream, most, log_sum, x, *c);
        add_rows(stream, c, loss, x, NULL, most, log_sum);
    });
}

/* What the gradients of a row are multiplied by. */
static __device__ __forceinline__ float scale_of(const launch_loss_call *c, const float *dloss,
                                                 int64_t row)
{
    float w = weight_of(c, label_of(c, row));
    float d = c->reduction == LAUNCH_LOSS_NONE ? dloss[row] : *dloss;
    if (c->reduction == LAUNCH_LOSS_MEAN)
        d *= (float)(1.0 / c->workspace[2 * c->pieces]);
    return w != 0.0f ? w * d : 0.0f;
}

/* softmax, less 1 at the label, times the row's scale; of log-probabilities only the second */
template <typename T>
static __device__ __forceinline__ float gradient_of(float x, float most, float log_sum, bool own,
                                                    float scale, bool log_probs)
{
    float p = log_probs ? 0.0f : exp_below_as<T>((x - most) - log_sum);
    return (own ? p - 1.0f : p) * scale;
}

/* The gradients of a row; `own` keeps what own_of() would find of its scores, which they may take
 * the place of. */
template <int THREADS, typename T>
static __device__ __forceinline__ void gradient_row(T *y, const T *x, const launch_loss_call *c,
                                                    int64_t row, float scale, float most,
                                                    float log_sum, float *own, bool aligned)
{
    int64_t at = row_begin(c, row), label = label_of(c, row);
    row_reader<THREADS, false, T> scores(x + at, c->classes, aligned);
    scores.each([&](int64_t i, auto q) {
        for (int j = 0; j < ROW_EACH<T>; j++) {
            if (own && i + j == label)
                own[row] = (q.v[j] - most) - log_sum;
            q.v[j] = gradient_of<T>(q.v[j], most, log_sum, i + j == label, scale, c->log_probs);
        }
        floats_store(y + at, i, c->classes, aligned, q);
    });
}

template <typename T, int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, loss_bwd_rows, T *y, const T *x, const float *dloss,
              const float *most, const float *log_sum, launch_loss_call c, bool aligned)
{
    for (int64_t r = row_first(); r < c.n; r += row_step()) {
        float m = c.log_probs ? 0.0f : most[r], l = c.log_probs ? 0.0f : log_sum[r];
        gradient_row<THREADS>(y, x, &c, r, scale_of(&c, dloss, r), m, l, NULL, aligned);
    }
}

template <typename T>
static KERNEL(LOSS_THREADS, loss_bwd_planes, T *y, const T *x, const float *dloss,
              const float *most, const float *log_sum, launch_loss_call c)
{
    int64_t each = c.classes * c.inner, all = c.n * each;
    for (int64_t e = (int64_t)blockIdx.x * LOSS_THREADS + threadIdx.x; e < all;
         e += (int64_t)gridDim.x * LOSS_THREADS) {
        int64_t r = e / each * LD(c.inner) + e % c.inner, own = e % each / c.inner;
        float m = c.log_probs ? 0.0f : most[r], l = c.log_probs ? 0.0f : log_sum[r];
        y[e] = stored<T>(gradient_of<T>(to_float(x[e]), m, l, own == label_of(&c, r),
                                     scale_of(&c, dloss, r), c.log_probs));
    }
}

void launch_loss_bwd(cuda_stream stream, const launch_loss_call *c, void *dscores,
                     const void *scores, const float *dloss, const float *most,
                     const float *log_sum)
{
    if (c->n * c->inner == 0)
        return;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        T *y = (T *)dscores;
        const T *x = (const T *)scores;
        bool aligned = rows_aligned<ROW_EACH<T>>(x, c->pitch) && rows_aligned<ROW_EACH<T>>(y, c->pitch);
        if (c->reduction == LAUNCH_LOSS_MEAN)
            add_rows<T>(stream, c, NULL, NULL, NULL, NULL, NULL);
        if (c->inner == 1)
            with_rows(c->n, c->classes, [&](auto threads, dim3 grid, dim3 block) {
                LAUNCH((loss_bwd_rows<T, decltype(threads)::value>), grid, block, 0, stream, y, x,
                       dloss, most, log_sum, *c, aligned);
            });
        else
            LAUNCH(loss_bwd_planes<T>, dim3(blocks_for(c->n * c->classes * c->inner, LOSS_THREADS)),
                   dim3(LOSS_THREADS), 0, stream, y, x, dloss, most, log_sum, *c);
    });
}

/* The largest score and its class, the first one on ties; a not-a-number is larger than all. */
struct best {
    float score;
    int32_t index;
};

static __device__ __forceinline__ best best_join(best a, best b)
{
    if (a.score != a.score)
        return a;
    if (b.score != b.score || b.score > a.score)
        return b;
    return b.score == a.score && b.index < a.index ? b : a;
}

enum { WRONG, RIGHT, NOT_COUNTED };

static __device__ __forceinline__ uint8_t verdict_of(const launch_loss_call *c, best b,
                                                     int64_t label)
{
    if (c->has_ignore && label == c->ignore)
        return NOT_COUNTED;
    if (c->classes == 1 && b.score > 0.0f)
        b.index = 1;
    return b.score == b.score && b.index == label ? RIGHT : WRONG;
}

template <typename T, int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, judge_rows, uint8_t *verdict, const T *x, launch_loss_call c)
{
    for (int64_t r = row_first(); r < c.n; r += row_step()) {
        best b = {-INFINITY, INT_MAX};
        for (int64_t i = threadIdx.x; i < c.classes; i += THREADS)
            b = best_join(b, {to_float(x[row_begin(&c, r) + i]), (int32_t)i});
        b = row_fold<THREADS>(b, {-INFINITY, INT_MAX}, best_join);
        if (threadIdx.x == 0)
            verdict[r] = verdict_of(&c, b, label_of(&c, r));
    }
}

template <typename T>
static KERNEL(LOSS_THREADS, judge_columns, uint8_t *verdict, const T *x, launch_loss_call c)
{
    for (int64_t r = (int64_t)blockIdx.x * LOSS_THREADS + threadIdx.x; r < c.n * c.inner;
         r += (int64_t)gridDim.x * LOSS_THREADS) {
        best b = {-INFINITY, INT_MAX};
        for (int64_t i = 0; i < c.classes; i++)
            b = best_join(b, {to_float(x[row_begin(&c, r) + i * c.inner]), (int32_t)i});
        verdict[r] = verdict_of(&c, b, label_of(&c, r));
    }
}

static KERNEL(LOSS_THREADS, count_verdicts, int64_t *right, int64_t *counted,
              const uint8_t *verdict, int64_t rows)
{
    int64_t of[3] = {0, 0, 0};
    for (int64_t r = threadIdx.x; r < rows; r += LOSS_THREADS)
        for (int v = WRONG; v <= NOT_COUNTED; v++)
            of[v] += verdict[r] == v;
    of[RIGHT] = row_sum<LOSS_THREADS>(of[RIGHT]);
    of[WRONG] = row_sum<LOSS_THREADS>(of[WRONG]);
    if (threadIdx.x == 0 && right)
        *right = of[RIGHT];
    if (threadIdx.x == 0 && counted)
        *counted = of[RIGHT] + of[WRONG];
}

void launch_accuracy(cuda_stream stream, const launch_loss_call *c, int64_t *right,
                     int64_t *counted, const void *scores)
{
    uint8_t *verdict = (uint8_t *)c->workspace;
    int64_t rows = c->n * c->inner;
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        const T *x = (const T *)scores;
        if (rows > 0 && c->inner == 1)
            with_rows(rows, c->classes, [&](auto threads, dim3 grid, dim3 block) {
                LAUNCH((judge_rows<T, decltype(threads)::value>), grid, block, 0, stream, verdict,
                       x, *c);
            });
        else if (rows > 0)
            LAUNCH(judge_columns<T>, dim3(blocks_for(rows, LOSS_THREADS)), dim3(LOSS_THREADS), 0,
                   stream, verdict, x, *c);
    });
    LAUNCH(count_verdicts, dim3(1), dim3(LOSS_THREADS), 0, stream, right, counted, verdict, rows);
}

/* --- all at once --- */

/* A row is measured, judged, and replaced by its gradients while it is near. */
template <typename T, int THREADS>
static KERNEL(ROW_BLOCK<THREADS>, pass_rows, launch_loss_pass made, const T *x, launch_loss_call c,
              bool aligned)
{
    for (int64_t r = row_first(); r < c.n; r += row_step()) {
        measure m = {-INFINITY, 0.0f};
        best b = {-INFINITY, INT_MAX};
        row_reader<THREADS, false, T> scores(x + row_begin(&c, r), c.classes, aligned, -INFINITY);
        scores.each([&](int64_t i, const auto &q) {
            m = measure_more<T>(m, q);
            for (int j = 0; j < ROW_EACH<T> && i + j < c.classes && made.verdict; j++)
                b = best_join(b, {q.v[j], (int32_t)i + j});
        });
        m = measure_of_row<THREADS, T>(m);
        float log_sum = vec_log(m.sum);
        if (made.verdict)
            b = row_fold<THREADS>(b, {-INFINITY, INT_MAX}, best_join);
        if (threadIdx.x == 0 && made.verdict)
            made.verdict[r] = verdict_of(&c, b, label_of(&c, r));
        if (threadIdx.x == 0 && made.most)
            made.most[r] = m.most;
        if (threadIdx.x == 0 && made.log_sum)
            made.log_sum[r] = log_sum;
        if (made.dscores)
            gradient_row<THREADS>((T *)made.dscores, x, &c, r, scale_of(&c, made.dloss, r), m.most,
                                  log_sum, made.own, aligned);
    }
}

void launch_loss_at_once(cuda_stream stream, const launch_loss_call *c,
                         const launch_loss_pass *made, const void *scores)
{
    with_type(c->type, [&](auto t) {
        typedef decltype(t) T;
        const T *x = (const T *)scores, *still_there = made->dscores ? NULL : x;
        bool aligned = rows_aligned<ROW_EACH<T>>(x, c->pitch) &&
                       rows_aligned<ROW_EACH<T>>((T *)made->dscores, c->pitch);
        if (made->dscores && c->reduction == LAUNCH_LOSS_MEAN)
            add_rows<T>(stream, c, NULL, NULL, NULL, NULL, NULL);
        if (c->n > 0)
            with_rows(c->n, c->classes, [&](auto threads, dim3 grid, dim3 block) {
                LAUNCH((pass_rows<T, decltype(threads)::value>), grid, block, 0, stream, *made, x,
                       *c, aligned);
            });
        add_rows(stream, c, made->loss, still_there, made->own, made->most, made->log_sum);
    });
    if (made->verdict)
        LAUNCH(count_verdicts, dim3(1), dim3(LOSS_THREADS), 0, stream, made->right, made->counted,
               made->verdict, c->n);
}
