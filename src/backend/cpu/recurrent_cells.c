/* The cells: what recurrent_math.h says of an element, for rows. */
#include "backend/cpu/recurrent.h"
#include "backend/recurrent_math.h"
#include "common/base/simd.h"

#include <string.h>

static int64_t row_of(const recurrent_pass *p, int64_t t, int64_t b)
{
    return t * p->s->batch + b;
}

static float *y_of(const recurrent_pass *p, int64_t t, int64_t b)
{
    return p->y + t * p->y_step + b * p->s->hidden;
}

/* Of a row that does not count: nothing comes out, the state stays. */
static void rest(const recurrent_pass *p, int64_t t, int64_t b)
{
    memset(y_of(p, t, b), 0, (size_t)p->s->hidden * sizeof(float));
}

/* ... and in backward: nothing goes in, the state's gradient stays. */
static void rest_bwd(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t row = row_of(p, t, b), hidden = p->s->hidden, gates = p->s->gates;
    memset(p->dgates + row * gates * hidden, 0, (size_t)(gates * hidden) * sizeof(float));
    if (p->dinner)
        memset(p->dinner + row * hidden, 0, (size_t)hidden * sizeof(float));
    memcpy(p->dh_direct + b * hidden, p->dh + b * hidden, (size_t)hidden * sizeof(float));
}

static void add_dy(const recurrent_pass *p, int64_t t, int64_t b)
{
    float *dh = p->dh + b * p->s->hidden;
    const float *dy = p->dy ? p->dy + t * p->y_step + b * p->s->hidden : NULL;
    for (int64_t j = 0; dy && j < p->s->hidden; j++)
        dh[j] += dy[j];
}

/* h * R^T onto the gates */
static status add_state(const recurrent_pass *p, int64_t t, int64_t n_gates, error *err)
{
    int64_t width = p->s->gates * p->s->hidden;
    return recurrent_multiply(p,
                              &(recurrent_matmul){.a = p->h,
                                                  .a_stride = p->s->hidden,
                                                  .n_gates = n_gates,
                                                  .forward = true,
                                                  .beta = 1.0f,
                                                  .c = p->gates + t * p->s->batch * width,
                                                  .c_stride = width},
                              err);
}

/* dh = the direct part + dgates * R */
static status take_state(const recurrent_pass *p, int64_t t, int64_t n_gates, error *err)
{
    int64_t width = p->s->gates * p->s->hidden;
    memcpy(p->dh, p->dh_direct, (size_t)(p->s->batch * p->s->hidden) * sizeof(float));
    return recurrent_multiply(p,
                              &(recurrent_matmul){.a = p->dgates + t * p->s->batch * width,
                                                  .a_stride = width,
                                                  .n_gates = n_gates,
                                                  .beta = 1.0f,
                                                  .c = p->dh,
                                                  .c_stride = p->s->hidden},
                              err);
}

/* gates i o f c */
SIMD_CLONES
static void lstm_loop(float *gates, float *c, float *h, float *y, float *inner, const float *peep,
                      int64_t n)
{
    float *gi = gates, *go = gates + n, *gf = gates + 2 * n, *gc = gates + 3 * n;
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++) {
        lstm_gates g = {gi[j], go[j], gf[j], gc[j]};
        lstm_gates p = {peep[j], peep[n + j], peep[2 * n + j], 0.0f};
        float cell = c[j], out = lstm_forward(&g, p, &cell);
        gi[j] = g.i;
        go[j] = g.o;
        gf[j] = g.f;
        gc[j] = g.candidate;
        c[j] = inner[j] = cell;
        h[j] = y[j] = out;
    }
}

static void lstm_row(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden, row = row_of(p, t, b);
    lstm_loop(p->gates + row * 4 * n, p->c + b * n, p->h + b * n, y_of(p, t, b), p->inner + row * n,
              p->p, n);
}

static status lstm_step(const recurrent_pass *p, int64_t t, error *err)
{
    TRY(add_state(p, t, 4, err));
    recurrent_rows(p, t, lstm_row, rest);
    return OK;
}

/* c: the cells before the step */
SIMD_CLONES
static void lstm_loop_bwd(float *dgates, float *dc, const float *dh, const float *gates,
                          const float *cell, const float *c, const float *peep, int64_t n)
{
    const float *gi = gates, *go = gates + n, *gf = gates + 2 * n, *gc = gates + 3 * n;
    float *di = dgates, *dout = dgates + n, *df = dgates + 2 * n, *dnew = dgates + 3 * n;
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++) {
        lstm_gates g = {gi[j], go[j], gf[j], gc[j]};
        lstm_gates p = {peep[j], peep[n + j], peep[2 * n + j], 0.0f};
        float gradient = dc[j];
        lstm_gates d = lstm_backward(g, p, dh[j], &gradient, c[j], cell[j]);
        di[j] = d.i;
        dout[j] = d.o;
        df[j] = d.f;
        dnew[j] = d.candidate;
        dc[j] = gradient;
    }
}

static void lstm_row_bwd(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden, row = row_of(p, t, b), before = p->reverse ? t + 1 : t - 1;
    bool first = before < 0 || before >= p->s->steps || !recurrent_counts(p, before, b);
    const float *c = first ? p->c0 + b * n : p->inner + row_of(p, before, b) * n;
    add_dy(p, t, b);
    lstm_loop_bwd(p->dgates + row * 4 * n, p->dc + b * n, p->dh + b * n, p->gates + row * 4 * n,
                  p->inner + row * n, c, p->p, n);
    memset(p->dh_direct + b * n, 0, (size_t)n * sizeof(float));
}

static status lstm_step_bwd(const recurrent_pass *p, int64_t t, error *err)
{
    recurrent_rows(p, t, lstm_row_bwd, rest_bwd);
    return take_state(p, t, 4, err);
}

const recurrent_cell recurrent_lstm = {lstm_step, lstm_step_bwd};

SIMD_CLONES
static void rnn_loop(float *gate, float *h, float *y, bool relu, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        h[j] = y[j] = rnn_forward(gate[j], relu);
}

static void rnn_row(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden;
    rnn_loop(p->gates + row_of(p, t, b) * n, p->h + b * n, y_of(p, t, b), p->s->relu, n);
}

static status rnn_step(const recurrent_pass *p, int64_t t, error *err)
{
    TRY(add_state(p, t, 1, err));
    recurrent_rows(p, t, rnn_row, rest);
    return OK;
}

static void rnn_row_bwd(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden;
    const float *y = y_of(p, t, b), *dh = p->dh + b * n;
    float *dgate = p->dgates + row_of(p, t, b) * n;
    add_dy(p, t, b);
    for (int64_t j = 0; j < n; j++)
        dgate[j] = rnn_backward(dh[j], y[j], p->s->relu);
    memset(p->dh_direct + b * n, 0, (size_t)n * sizeof(float));
}

static status rnn_step_bwd(const recurrent_pass *p, int64_t t, error *err)
{
    recurrent_rows(p, t, rnn_row_bwd, rest_bwd);
    return take_state(p, t, 1, err);
}

const recurrent_cell recurrent_rnn = {rnn_step, rnn_step_bwd};

/* gates z r h: the first two, and the state that the reset lets through */
SIMD_CLONES
static void gru_open(float *gates, float *reset_h, const float *h, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < 2 * n; j++)
        gates[j] = vec_sigmoid(gates[j]);
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        reset_h[j] = gates[n + j] * h[j];
}

SIMD_CLONES
static void gru_close(float *gates, const float *inner, float *h, float *y, bool linear, int64_t n)
{
    const float *z = gates, *r = gates + n;
    float *new = gates + 2 * n;
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++) {
        gru_gates g = {z[j], r[j], new[j]};
        h[j] = y[j] = gru_forward(&g, inner[j], h[j], linear);
        new[j] = g.candidate;
    }
}

static void gru_open_row(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden;
    gru_open(p->gates + row_of(p, t, b) * 3 * n, p->reset_h + b * n, p->h + b * n, n);
}

static void gru_close_row(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden, row = row_of(p, t, b);
    gru_close(p->gates + row * 3 * n, p->inner + row * n, p->h + b * n, y_of(p, t, b),
              p->s->linear_before_reset, n);
}

static status gru_step(const recurrent_pass *p, int64_t t, error *err)
{
    int64_t n = p->s->hidden;
    TRY(add_state(p, t, 2, err));
    recurrent_rows(p, t, gru_open_row, gru_open_row);
    TRY(recurrent_multiply(p,
                           &(recurrent_matmul){.a = p->s->linear_before_reset ? p->h : p->reset_h,
                                               .a_stride = n,
                                               .gate = 2,
                                               .n_gates = 1,
                                               .forward = true,
                                               .beta = 1.0f,
                                               .c = p->inner + t * p->s->batch * n,
                                               .c_stride = n},
                           err));
    recurrent_rows(p, t, gru_close_row, rest);
    return OK;
}

/* z and the candidate; dr is left to the caller, which knows what the reset multiplied */
static void gru_row_bwd(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden, row = row_of(p, t, b);
    const float *z = p->gates + row * 3 * n, *r = z + n, *new = z + 2 * n;
    const float *h = p->h_before + row * n, *inner = p->inner + row * n, *dh = p->dh + b * n;
    float *dz = p->dgates + row * 3 * n, *dr = dz + n, *dnew = dz + 2 * n;
    float *dinner = p->dinner + row * n, *direct = p->dh_direct + b * n;
    bool linear = p->s->linear_before_reset;
    add_dy(p, t, b);
    for (int64_t j = 0; j < n; j++) {
        gru_gates g = {z[j], r[j], new[j]};
        g = gru_backward(g, dh[j], inner[j], h[j], linear, &dinner[j]);
        direct[j] = dh[j] * z[j];
        dz[j] = g.z;
        dr[j] = g.r;
        dnew[j] = g.candidate;
    }
}

/* p->reset_h holds the gradient of r * h, or of h itself */
static void gru_row_reset(const recurrent_pass *p, int64_t t, int64_t b)
{
    int64_t n = p->s->hidden, row = row_of(p, t, b);
    const float *r = p->gates + row * 3 * n + n, *h = p->h_before + row * n;
    const float *through = p->reset_h + b * n;
    float *dr = p->dgates + row * 3 * n + n, *direct = p->dh_direct + b * n;
    for (int64_t j = 0; j < n; j++) {
        if (!p->s->linear_before_reset)
            dr[j] = gru_backward_reset(r[j], through[j], h[j]);
        direct[j] += p->s->linear_before_reset ? through[j] : through[j] * r[j];
    }
}

static status gru_step_bwd(const recurrent_pass *p, int64_t t, error *err)
{
    int64_t n = p->s->hidden;
    recurrent_rows(p, t, gru_row_bwd, rest_bwd);
    TRY(recurrent_multiply(p,
                           &(recurrent_matmul){.a = p->dinner + t * p->s->batch * n,
                                               .a_stride = n,
                                               .gate = 2,
                                               .n_gates = 1,
                                               .c = p->reset_h,
                                               .c_stride = n},
                           err));
    recurrent_rows(p, t, gru_row_reset, NULL);
    return take_state(p, t, 2, err);
}

const recurrent_cell recurrent_gru = {gru_step, gru_step_bwd};
