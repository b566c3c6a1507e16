/* LSTM, GRU and RNN between their matmuls: a thread an element of the state, the CPU's formulas.
 */
#include "backend/cuda/kernels/device.cuh"
#include "backend/cuda/kernels/recurrent.h"
#include "backend/recurrent_math.h"

enum { THREADS = 128, ACROSS = 32, DOWN = 8 };

/* Element j of example b in step t. */
struct spot {
    int64_t t, b, j;
    int64_t state, row, y; /* where it is in [batch,hidden], in [steps,batch,hidden], in y */
    int64_t gate;          /* where its first gate is; the next ones follow `hidden` apart */
    bool counts;
};

static __device__ __forceinline__ bool is_counted(const launch_recurrent &r, int64_t t, int64_t b)
{
    if (!r.lengths)
        return true;
    return t < (r.wide_lengths ? ((const int64_t *)r.lengths)[b]
                               : (int64_t)((const int32_t *)r.lengths)[b]);
}

static __device__ __forceinline__ spot spot_of(const launch_recurrent &r, int64_t t, int64_t i)
{
    spot s;
    s.t = t;
    s.b = i / r.hidden;
    s.j = i % r.hidden;
    s.state = i;
    int64_t row = t * r.batch + s.b;
    s.row = row * LD(r.hidden) + s.j;
    s.y = t * LD(r.y_step) + i;
    s.gate = row * LD(r.gates * r.hidden) + s.j;
    s.counts = is_counted(r, t, s.b);
    return s;
}

static __device__ __forceinline__ float or_zero(const float *x, int64_t i)
{
    return x ? x[i] : 0.0f;
}

/* Whether the state before the step is an earlier step's, and which. */
static __device__ __forceinline__ bool has_before(const launch_recurrent &r, const spot &s,
                                                  int64_t *ret)
{
    *ret = r.reverse ? s.t + 1 : s.t - 1;
    return *ret >= 0 && *ret < r.steps && is_counted(r, *ret, s.b);
}

/* LSTM's cell before the step. */
static __device__ __forceinline__ float cell_before(const launch_recurrent &r, const spot &s)
{
    int64_t before;
    if (!has_before(r, s, &before))
        return or_zero(r.c0, s.state);
    return r.inner[(before * r.batch + s.b) * LD(r.hidden) + s.j];
}

static __device__ __forceinline__ lstm_gates peepholes_of(const launch_recurrent &r, int64_t j)
{
    return {or_zero(r.peep, j), or_zero(r.peep, LD(r.hidden) + j),
            or_zero(r.peep, 2 * LD(r.hidden) + j), 0.0f};
}

/* --- forward --- */

static __device__ __forceinline__ void lstm_step(const launch_recurrent &r, const spot &s)
{
    float *gate = r.gate + s.gate, cell = r.c[s.state];
    int64_t n = r.hidden;
    lstm_gates g = {gate[0], gate[n], gate[2 * n], gate[3 * n]};
    r.h[s.state] = r.y[s.y] = lstm_forward(&g, peepholes_of(r, s.j), &cell);
    gate[0] = g.i;
    gate[n] = g.o;
    gate[2 * n] = g.f;
    gate[3 * n] = g.candidate;
    r.c[s.state] = r.inner[s.row] = cell;
}

static __device__ __forceinline__ void gru_open(const launch_recurrent &r, const spot &s)
{
    float *gate = r.gate + s.gate;
    gate[0] = vec_sigmoid(gate[0]);
    gate[r.hidden] = vec_sigmoid(gate[r.hidden]);
    r.reset_h[s.state] = gate[r.hidden] * r.h[s.state];
}

static __device__ __forceinline__ void gru_step(const launch_recurrent &r, const spot &s)
{
    float *gate = r.gate + s.gate;
    gru_gates g = {gate[0], gate[r.hidden], gate[2 * r.hidden]};
    r.h[s.state] = r.y[s.y] = gru_forward(&g, r.inner[s.row], r.h[s.state], r.linear_before_reset);
    gate[2 * r.hidden] = g.candidate;
}

/* Nothing comes out of what does not count, and its state stays. */
static __device__ __forceinline__ void step(const launch_recurrent &r, const spot &s)
{
    if (!s.counts)
        r.y[s.y] = 0.0f;
    else if (r.cell == CELL_LSTM)
        lstm_step(r, s);
    else if (r.cell == CELL_GRU)
        gru_step(r, s);
    else
        r.h[s.state] = r.y[s.y] = rnn_forward(r.gate[s.gate], r.relu);
}

/* --- backward --- */

static __device__ __forceinline__ void before(const launch_recurrent &r, const spot &s)
{
    int64_t t;
    float h = 0.0f;
    if (s.counts)
        h = has_before(r, s, &t) ? r.y[t * LD(r.y_step) + s.state] : or_zero(r.h0, s.state);
    r.h_before[s.row] = h;
    if (r.inner_in && r.inner_in != r.h_before)
        r.inner_in[s.row] = r.gate[s.gate + r.hidden] * h;
}

static __device__ __forceinline__ void lstm_step_bwd(const launch_recurrent &r, const spot &s,
                                                     float dh)
{
    const float *gate = r.gate + s.gate;
    float *to = r.dgate + s.gate;
    int64_t n = r.hidden;
    lstm_gates g = {gate[0], gate[n], gate[2 * n], gate[3 * n]};
    lstm_gates d = lstm_backward(g, peepholes_of(r, s.j), dh, &r.dc[s.state], cell_before(r, s),
                                 r.inner[s.row]);
    to[0] = d.i;
    to[n] = d.o;
    to[2 * n] = d.f;
    to[3 * n] = d.candidate;
    r.dh_direct[s.state] = 0.0f;
}

static __device__ __forceinline__ void gru_step_bwd(const launch_recurrent &r, const spot &s,
                                                    float dh)
{
    const float *gate = r.gate + s.gate;
    float *to = r.dgate + s.gate;
    int64_t n = r.hidden;
    gru_gates g = {gate[0], gate[n], gate[2 * n]};
    gru_gates d = gru_backward(g, dh, r.inner[s.row], r.h_before[s.row], r.linear_before_reset,
                               &r.dinner[s.row]);
    to[0] = d.z;
    to[n] = d.r;
    to[2 * n] = d.candidate;
    r.dh_direct[s.state] = dh * g.z;
}

/* Nothing goes into what does not count, and its state's gradient stays. */
static __device__ __forceinline__ void rest_bwd(const launch_recurrent &r, const spot &s)
{
    for (int64_t k = 0; k < r.gates; k++)
        r.dgate[s.gate + k * r.hidden] = 0.0f;
    if (r.dinner)
        r.dinner[s.row] = 0.0f;
    r.dh_direct[s.state] = r.dh[s.state];
}

static __device__ __forceinline__ void step_bwd(const launch_recurrent &r, const spot &s)
{
    float dh = r.dh[s.state] + or_zero(r.dy, s.y);
    if (!s.counts) {
        rest_bwd(r, s);
    } else if (r.cell == CELL_LSTM) {
        lstm_step_bwd(r, s, dh);
    } else if (r.cell == CELL_GRU) {
        gru_step_bwd(r, s, dh);
    } else {
        r.dgate[s.gate] = rnn_backward(dh, r.y[s.y], r.relu);
        r.dh_direct[s.state] = 0.0f;
    }
}

static __device__ __forceinline__ void gru_reset_bwd(const launch_recurrent &r, const spot &s)
{
    float reset = r.gate[s.gate + r.hidden], through = r.reset_h[s.state];
    if (!s.counts)
        return;
    if (!r.linear_before_reset)
        r.dgate[s.gate + r.hidden] = gru_backward_reset(reset, through, r.h_before[s.row]);
    r.dh_direct[s.state] += r.linear_before_reset ? through : through * reset;
}

/* --- launches over elements --- */

typedef void spot_function(const launch_recurrent &r, const spot &s);

/* Of the states of steps t and on, `total` elements. */
template <spot_function DO>
static KERNEL(THREADS, each, launch_recurrent r, int64_t t, int64_t total)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, states = r.batch * r.hidden;
    if (IN(i < total))
        DO(r, spot_of(r, t + i / states, i % states));
}

template <spot_function DO>
static void launch(cuda_stream stream, const launch_recurrent *r, int64_t t, int64_t steps)
{
    int64_t total = steps * r->batch * r->hidden;
    if (total > 0)
        LAUNCH(each<DO>, dim3((unsigned)((total + THREADS - 1) / THREADS)), dim3(THREADS), 0,
               stream, *r, t, total);
}

void launch_gru_open(cuda_stream stream, const launch_recurrent *r, int64_t t)
{
    launch<gru_open>(stream, r, t, 1);
}

void launch_recurrent_step(cuda_stream stream, const launch_recurrent *r, int64_t t)
{
    launch<step>(stream, r, t, 1);
}

void launch_recurrent_before(cuda_stream stream, const launch_recurrent *r)
{
    launch<before>(stream, r, 0, r->steps);
}

void launch_recurrent_step_bwd(cuda_stream stream, const launch_recurrent *r, int64_t t)
{
    launch<step_bwd>(stream, r, t, 1);
}

void launch_gru_reset_bwd(cuda_stream stream, const launch_recurrent *r, int64_t t)
{
    launch<gru_reset_bwd>(stream, r, t, 1);
}

/* --- biases and peepholes --- */

static KERNEL(THREADS, add_biases, launch_recurrent r, float *ret, const float *bias)
{
    int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x, wide = r.gates * r.hidden;
    if (!IN(j < wide))
        return;
    bool apart = r.cell == CELL_GRU && r.linear_before_reset && j >= 2 * r.hidden;
    ret[j] = apart ? bias[j] : bias[j] + bias[LD(wide) + j];
}

void launch_recurrent_bias(cuda_stream stream, const launch_recurrent *r, float *ret,
                           const float *bias)
{
    int64_t wide = r->gates * r->hidden;
    LAUNCH(add_biases, dim3((unsigned)((wide + THREADS - 1) / THREADS)), dim3(THREADS), 0, stream,
           *r, ret, bias);
}

/* f(row, column) of all rows, added up: each of a block's lines takes every DOWN-th row, then they
 * are added in a tree. */
template <typename F>
static KERNEL((ACROSS * DOWN), sum_columns, F f, float *ret, int64_t rows, int64_t n)
{
    SHARED(float, sums, [DOWN][ACROSS]);
    int64_t column = (int64_t)blockIdx.x * ACROSS + threadIdx.x;
    float sum = 0.0f;
    for (int64_t row = threadIdx.y; row < rows; row += DOWN)
        if (IN(column < n))
            sum += f.at(row, column);
    sums[threadIdx.y][threadIdx.x] = sum;
    for (int half = DOWN / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.y < half)
            sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
    }
    if (threadIdx.y == 0 && IN(column < n))
        ret[column] = sums[0][threadIdx.x];
}

template <typename F>
static void launch_sums(cuda_stream stream, F f, float *ret, int64_t rows, int64_t n)
{
    LAUNCH(sum_columns<F>, dim3((unsigned)((n + ACROSS - 1) / ACROSS)), dim3(ACROSS, DOWN), 0,
           stream, f, ret, rows, n);
}

struct plain_column {
    const float *x;
    int64_t n;

    __device__ __forceinline__ float at(int64_t row, int64_t column) const
    {
        return x[row * LD(n) + column];
    }
};

/* Peepholes look from i and f at the cell before the step, from o at the one after it. */
struct peephole_column {
    launch_recurrent r;

    __device__ __forceinline__ float at(int64_t row, int64_t column) const
    {
        int64_t which = column / r.hidden;
        spot s = spot_of(r, row / r.batch, row % r.batch * r.hidden + column % r.hidden);
        if (!s.counts)
            return 0.0f;
        return r.dgate[s.gate + which * r.hidden] *
               (which == 1 ? r.inner[s.row] : cell_before(r, s));
    }
};

void launch_recurrent_sums(cuda_stream stream, const launch_recurrent *r, float *ret,
                           const float *x, int64_t n)
{
    launch_sums(stream, plain_column{x, n}, ret, r->steps * r->batch, n);
}

void launch_lstm_peepholes(cuda_stream stream, const launch_recurrent *r, float *ret)
{
    launch_sums(stream, peephole_column{*r}, ret, r->steps * r->batch, 3 * r->hidden);
}
