/*
 * LSTM, GRU and RNN, forward and through time. Both directions run one after the other with the
 * same scratch memory; the gradient of x is summed over them.
 */
#include "backend/cpu/recurrent.h"

#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

#include <string.h>

/* Pieces of scratch memory one after the other; with base NULL only their sizes are counted. */
typedef struct pieces {
    float *base;
    size_t used;
} pieces;

static float *take(pieces *s, int64_t floats)
{
    float *ret = s->base ? s->base + s->used : NULL;
    s->used += size_round_up((size_t)floats, MEM_ALIGN / sizeof(float));
    return ret;
}

static void place(const recurrent_form *s, recurrent_pass *p, bool backward, pieces *from)
{
    int64_t states = s->batch * s->hidden, all = s->steps * states;
    p->h = take(from, states);
    p->c = take(from, states);
    p->reset_h = take(from, states);
    if (s->cell == OP_RNN)
        p->gates = take(from, all);
    if (!backward)
        return;
    p->dh = take(from, states);
    p->dc = take(from, states);
    p->dh_direct = take(from, states);
    p->dgates = take(from, all * s->gates);
    p->h_before = take(from, all);
    if (s->cell == OP_GRU) {
        p->dinner = take(from, all);
        p->inner_in = s->linear_before_reset ? p->h_before : take(from, all);
    }
}

/* Row d of an operand whose first axis is the direction. */
static const float *part_of(const void *base, int64_t d, int64_t floats)
{
    return base ? (const float *)base + d * floats : NULL;
}

static recurrent_pass pass_of(const recurrent_form *s, const cpu_call *c, int64_t d, bool backward)
{
    int64_t n = s->hidden, wide = s->gates * n, states = s->batch * n;
    recurrent_pass p = {
        .s = s,
        .reverse = s->reverse_only || d == 1,
        .lengths = c->in[RECURRENT_LENGTHS],
        .x = c->in[RECURRENT_X],
        .w = part_of(c->in[RECURRENT_W], d, wide * s->inputs),
        .r = part_of(c->in[RECURRENT_R], d, wide * n),
        .b = part_of(c->in[RECURRENT_B], d, 2 * wide),
        .h0 = part_of(c->in[RECURRENT_H0], d, states),
        .y_step = s->directions * states,
    };
    pieces from = {.base = c->scratch};
    place(s, &p, backward, &from);
    float *no_peepholes = take(&from, 3 * n), *zero_cell = take(&from, states);
    memset(no_peepholes, 0, (size_t)(3 * n) * sizeof(float));
    memset(zero_cell, 0, (size_t)states * sizeof(float));
    p.p = no_peepholes;
    p.c0 = zero_cell;
    if (s->cell == OP_LSTM && c->in[RECURRENT_P])
        p.p = part_of(c->in[RECURRENT_P], d, 3 * n);
    if (s->cell == OP_LSTM && c->in[RECURRENT_C0])
        p.c0 = part_of(c->in[RECURRENT_C0], d, states);
    const void *y = backward ? c->in[RECURRENT_Y] : c->out[0];
    const void *gates = backward ? c->in[RECURRENT_GATES] : c->out[3];
    const void *inner = backward ? c->in[RECURRENT_INNER] : c->out[4];
    p.y = (float *)(uintptr_t)part_of(y, d, states);
    if (s->cell != OP_RNN) {
        p.gates = (float *)(uintptr_t)part_of(gates, d, s->steps * s->batch * wide);
        p.inner = (float *)(uintptr_t)part_of(inner, d, s->steps * states);
    }
    return p;
}

static void start_state(float *state, const float *from, int64_t n)
{
    if (from)
        memcpy(state, from, (size_t)n * sizeof(float));
    else
        memset(state, 0, (size_t)n * sizeof(float));
}

static void fill_rows(float *rows, const float *row, int64_t n_rows, int64_t n)
{
    for (int64_t i = 0; i < n_rows; i++)
        memcpy(rows + i * n, row, (size_t)n * sizeof(float));
}

/* Where matmuls with x and with the state are added to: the biases. What GRU's reset multiplies
 * has a bias of its own. */
static void start_gates(const recurrent_pass *p)
{
    const recurrent_form *s = p->s;
    int64_t n = s->hidden, wide = s->gates * n, rows = s->steps * s->batch;
    bool apart = s->cell == OP_GRU && s->linear_before_reset;
    if (s->cell == OP_GRU)
        memset(p->inner, 0, (size_t)(rows * n) * sizeof(float));
    memset(p->gates, 0, (size_t)(rows * wide) * sizeof(float));
    if (!p->b || rows == 0)
        return;
    for (int64_t j = 0; j < wide; j++)
        p->gates[j] = p->b[j] + (apart && j >= 2 * n ? 0.0f : p->b[wide + j]);
    fill_rows(p->gates + wide, p->gates, rows - 1, wide);
    if (apart)
        fill_rows(p->inner, p->b + wide + 2 * n, rows, n);
}

static const recurrent_cell *cell_of(graph_op cell)
{
    return cell == OP_LSTM ? &recurrent_lstm : cell == OP_GRU ? &recurrent_gru : &recurrent_rnn;
}

/* Step number i in the order in which the direction walks. */
static int64_t step_at(const recurrent_pass *p, int64_t i)
{
    return p->reverse ? p->s->steps - 1 - i : i;
}

static status run_direction(const recurrent_pass *p, error *err)
{
    const recurrent_form *s = p->s;
    int64_t wide = s->gates * s->hidden;
    start_gates(p);
    shim_matrix x = {.data = p->x, .stride = s->inputs};
    shim_matrix w = {.data = p->w, .stride = s->inputs, .transposed = true};
    TRY(shim_gemm(s->steps * s->batch, wide, s->inputs, 1.0f, x, w, 1.0f, p->gates, wide, err));
    start_state(p->h, p->h0, s->batch * s->hidden);
    start_state(p->c, p->c0, s->batch * s->hidden);
    for (int64_t i = 0; i < s->steps; i++)
        TRY(cell_of(s->cell)->step(p, step_at(p, i), err));
    return OK;
}

static status run_recurrent(const cpu_node *n, const cpu_call *c, error *err)
{
    const recurrent_form *s = n->state;
    int64_t states = s->batch * s->hidden;
    for (int64_t d = 0; d < s->directions; d++) {
        recurrent_pass p = pass_of(s, c, d, false);
        TRY(run_direction(&p, err));
        memcpy((float *)c->out[1] + d * states, p.h, (size_t)states * sizeof(float));
        if (c->out[2])
            memcpy((float *)c->out[2] + d * states, p.c, (size_t)states * sizeof(float));
    }
    return OK;
}

/* The states before every step, and what GRU multiplies with R_h; zero where nothing counts. */
static void gather_states(const recurrent_pass *p)
{
    const recurrent_form *s = p->s;
    int64_t n = s->hidden;
    for (int64_t row = 0; row < s->steps * s->batch; row++) {
        int64_t t = row / s->batch, b = row % s->batch, before = p->reverse ? t + 1 : t - 1;
        bool first = before < 0 || before >= s->steps || !recurrent_counts(p, before, b);
        const float *h = first ? (p->h0 ? p->h0 + b * n : NULL) : p->y + before * p->y_step + b * n;
        start_state(p->h_before + row * n, recurrent_counts(p, t, b) ? h : NULL, n);
        for (int64_t j = 0; p->inner_in && p->inner_in != p->h_before && j < n; j++)
            p->inner_in[row * n + j] = p->gates[row * 3 * n + n + j] * p->h_before[row * n + j];
    }
}

SIMD_CLONES
static void add_row(float *to, const float *row, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        to[j] += row[j];
}

/* Sums of columns, rows in their order. */
static void sum_rows(float *ret, const float *rows, int64_t n_rows, int64_t n)
{
    memset(ret, 0, (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n_rows; i++)
        add_row(ret, rows + i * n, n);
}

static void find_dbias(const recurrent_pass *p, float *db)
{
    int64_t n = p->s->hidden, wide = p->s->gates * n, rows = p->s->steps * p->s->batch;
    sum_rows(db, p->dgates, rows, wide);
    memcpy(db + wide, db, (size_t)wide * sizeof(float));
    if (p->dinner)
        sum_rows(db + wide + 2 * n, p->dinner, rows, n);
}

/* Peepholes look from i and f at the cell before the step, from o at the one after it. */
static void find_dpeepholes(const recurrent_pass *p, float *dp)
{
    const recurrent_form *s = p->s;
    int64_t n = s->hidden;
    memset(dp, 0, (size_t)(3 * n) * sizeof(float));
    for (int64_t row = 0; row < s->steps * s->batch; row++) {
        int64_t t = row / s->batch, b = row % s->batch, before = p->reverse ? t + 1 : t - 1;
        if (!recurrent_counts(p, t, b))
            continue;
        bool first = before < 0 || before >= s->steps || !recurrent_counts(p, before, b);
        const float *c = first ? p->c0 + b * n : p->inner + (before * s->batch + b) * n;
        const float *after = p->inner + row * n, *d = p->dgates + row * 4 * n;
        for (int64_t j = 0; j < n; j++) {
            dp[j] += d[j] * c[j];
            dp[n + j] += d[n + j] * after[j];
            dp[2 * n + j] += d[2 * n + j] * c[j];
        }
    }
}

/* ret [n,k] = a^T b of [rows,n] and [rows,k] */
static status by_rows(const recurrent_pass *p, const float *a, int64_t a_stride, int64_t n,
                      const float *b, int64_t k, float *ret, error *err)
{
    shim_matrix at = {.data = a, .stride = a_stride, .transposed = true};
    shim_matrix bt = {.data = b, .stride = k};
    return shim_gemm(n, k, p->s->steps * p->s->batch, 1.0f, at, bt, 0.0f, ret, k, err);
}

static status find_dweights(const recurrent_pass *p, float *dw, float *dr, error *err)
{
    int64_t n = p->s->hidden, wide = p->s->gates * n;
    int64_t plain = p->dinner ? 2 * n : wide; /* gates that the state reaches through R alone */
    if (dw)
        TRY(by_rows(p, p->dgates, wide, wide, p->x, p->s->inputs, dw, err));
    if (!dr)
        return OK;
    TRY(by_rows(p, p->dgates, wide, plain, p->h_before, n, dr, err));
    if (p->dinner)
        TRY(by_rows(p, p->dinner, n, n, p->inner_in, n, dr + plain * n, err));
    return OK;
}

static status walk_back(recurrent_pass *p, const cpu_call *c, int64_t d, error *err)
{
    const recurrent_form *s = p->s;
    int64_t states = s->batch * s->hidden;
    p->dy = part_of(c->in[RECURRENT_DY], d, states);
    start_state(p->dh, part_of(c->in[RECURRENT_DY_H], d, states), states);
    start_state(p->dc, part_of(c->in[RECURRENT_DY_C], d, states), states);
    gather_states(p);
    for (int64_t i = s->steps - 1; i >= 0; i--)
        TRY(cell_of(s->cell)->step_bwd(p, step_at(p, i), err));
    return OK;
}

static float *out_of(const cpu_call *c, int place, int64_t d, int64_t floats)
{
    return c->out[place] ? (float *)c->out[place] + d * floats : NULL;
}

static status run_recurrent_bwd(const cpu_node *node, const cpu_call *c, error *err)
{
    const recurrent_form *s = node->state;
    int64_t n = s->hidden, wide = s->gates * n, states = s->batch * n;
    for (int64_t d = 0; d < s->directions; d++) {
        recurrent_pass p = pass_of(s, c, d, true);
        TRY(walk_back(&p, c, d, err));
        if (c->out[RECURRENT_X]) {
            shim_matrix dgates = {.data = p.dgates, .stride = wide};
            shim_matrix w = {.data = p.w, .stride = s->inputs};
            TRY(shim_gemm(s->steps * s->batch, s->inputs, wide, 1.0f, dgates, w,
                          d > 0 ? 1.0f : 0.0f, c->out[RECURRENT_X], s->inputs, err));
        }
        TRY(find_dweights(&p, out_of(c, RECURRENT_W, d, wide * s->inputs),
                          out_of(c, RECURRENT_R, d, wide * n), err));
        if (c->out[RECURRENT_B])
            find_dbias(&p, out_of(c, RECURRENT_B, d, 2 * wide));
        if (c->out[RECURRENT_H0])
            memcpy(out_of(c, RECURRENT_H0, d, states), p.dh, (size_t)states * sizeof(float));
        if (c->out[RECURRENT_C0])
            memcpy(out_of(c, RECURRENT_C0, d, states), p.dc, (size_t)states * sizeof(float));
        if (c->out[RECURRENT_P])
            find_dpeepholes(&p, out_of(c, RECURRENT_P, d, 3 * n));
    }
    return OK;
}

status cpu_plan_recurrent(cpu_node *n)
{
    bool backward = graph_op_of(n->node->op)->traits & OP_BACKWARD;
    recurrent_form *s = node_alloc(n, sizeof *s);
    *s = recurrent_form_of(n->program->g, n->node);
    recurrent_pass pass = {.s = s};
    pieces count = {0};
    place(s, &pass, backward, &count);
    take(&count, 3 * s->hidden);
    take(&count, s->batch * s->hidden);
    n->scratch_bytes = count.used * sizeof(float);
    n->body = backward ? run_recurrent_bwd : run_recurrent;
    n->state = s;
    return OK;
}
