/*
 * LSTM, GRU and RNN, forward and through time. The matmuls with x are one over all steps; those
 * with the state are one or two a step, cells between them. Directions run one after the other with
 * the same scratch memory; the gradient of x is summed over them.
 */
#include "backend/cuda/kernels/recurrent.h"
#include "backend/cuda/device/device.h"
#include "backend/cuda/plan/matmul.h"
#include "backend/cuda/plan/plan.h"
#include "common/base/alloc.h"
#include "graph/recurrent_form.h"

enum { SCRATCH_ALIGN = 256 };

/* y = a b, or y += a b, or with c a bias in front. */
typedef enum matmul_place {
    BY_X,       /* gate = bias + x W^T, of all steps */
    BY_STATE,   /* gate += h R^T; GRU's but its candidate */
    BY_INNER,   /* GRU: inner = bias + (h or r h) R_h^T */
    TO_STATE,   /* dh = dh_direct + dgate R */
    TO_INNER,   /* GRU: the gradient of what R_h multiplied */
    TO_X,       /* dx = dgate W */
    TO_X_MORE,  /* dx += dgate W, of the second direction */
    TO_W,       /* dW = dgate^T x */
    TO_R,       /* dR = dgate^T h_before */
    TO_R_INNER, /* GRU: dR_h = dinner^T inner_in */
    MATMULS
} matmul_place;

typedef struct recurrent_state {
    launch_recurrent launch;                 /* without addresses */
    int64_t inputs, directions, wide, plain; /* wide: gates of a row; plain: those of the state */
    bool reverse_only, has_bias;
    cuda_matmul matmuls[MATMULS]; /* forward's or backward's */
    size_t own_bytes;             /* of scratch, in front of the matmuls' */
} recurrent_state;

/* One direction of one run. */
typedef struct pass {
    const recurrent_state *s;
    const cuda_call *call;
    launch_recurrent r;
    const float *x, *w, *weights, *bias; /* weights: R */
    float *gate_bias;
    void *matmul_scratch;
} pass;

/* --- scratch: pieces one after the other; with base NULL only their sizes are counted --- */

typedef struct pieces {
    char *base;
    size_t used;
} pieces;

static float *take(pieces *s, int64_t floats)
{
    float *ret = s->base ? (float *)(void *)(s->base + s->used) : NULL;
    s->used += size_round_up((size_t)floats * sizeof(float), SCRATCH_ALIGN);
    return ret;
}

static void place(const recurrent_state *s, pass *p, bool backward, pieces *from)
{
    launch_recurrent *r = &p->r;
    int64_t states = r->batch * r->hidden, all = r->steps * states;
    r->reset_h = take(from, states);
    if (r->cell == CELL_RNN)
        r->gate = take(from, all);
    if (!backward) {
        r->h = take(from, states);
        r->c = take(from, states);
        p->gate_bias = take(from, s->wide);
        return;
    }
    r->dh = take(from, states);
    r->dc = take(from, states);
    r->dh_direct = take(from, states);
    r->dgate = take(from, all * r->gates);
    r->h_before = take(from, all);
    if (r->cell == CELL_GRU) {
        r->dinner = take(from, all);
        r->inner_in = r->linear_before_reset ? r->h_before : take(from, all);
    }
}

/* --- planning --- */

typedef struct sizes {
    int64_t m, n, k;
} sizes;

static gemm_task task_of(sizes z, tile_matrix a, tile_matrix b, int64_t y_row)
{
    return (gemm_task){.batches = 1,
                       .m = z.m,
                       .n = z.n,
                       .k = z.k,
                       .a = a,
                       .b = b,
                       .y_type = DT_F32,
                       .y_row = y_row,
                       .end = {.alpha = 1.0f}};
}

static tile_matrix rows_of(int64_t pitch)
{
    return (tile_matrix){.row = pitch, .column = 1};
}

static tile_matrix transposed(int64_t pitch)
{
    return (tile_matrix){.row = 1, .column = pitch};
}

/* The matmul adds to c: [m,n] with rows c_row apart, or a row for all of them. */
static gemm_task onto(gemm_task t, int64_t c_row)
{
    t.end.beta = 1.0f;
    t.end.c = &t; /* there is one */
    t.end.c_type = DT_F32;
    t.end.c_row = c_row;
    t.end.c_column = 1;
    return t;
}

static gemm_task onto_bias(const recurrent_state *s, gemm_task t)
{
    return s->has_bias ? onto(t, 0) : t;
}

/* What the operands of all matmuls begin at multiples of: `hidden` numbers divide them. */
static size_t align_of(const recurrent_state *s)
{
    size_t align = SCRATCH_ALIGN;
    while ((size_t)s->launch.hidden * sizeof(float) % align)
        align /= 2;
    return align;
}

/* A matmul without elements is not run. */
static status plan_matmul(backend_program *p, recurrent_state *s, matmul_place which, gemm_task t,
                          error *err)
{
    cuda_matmul *to = &s->matmuls[which];
    TRY(cuda_matmul_kind(p, DT_F32, &t.kind, err));
    if (t.m == 0 || t.n == 0) {
        to->task = t;
        return OK;
    }
    return cuda_matmul_plan(p, &t, align_of(s), to, err);
}

static status plan_forward(backend_program *p, recurrent_state *s, error *err)
{
    int64_t n = s->launch.hidden, batch = s->launch.batch, rows = s->launch.steps * batch;
    gemm_task x = task_of((sizes){rows, s->wide, s->inputs}, rows_of(s->inputs),
                          transposed(s->inputs), s->wide);
    gemm_task h = task_of((sizes){batch, s->plain, n}, rows_of(n), transposed(n), s->wide);
    TRY(plan_matmul(p, s, BY_X, onto_bias(s, x), err));
    TRY(plan_matmul(p, s, BY_STATE, onto(h, s->wide), err));
    if (s->launch.cell != CELL_GRU)
        return OK;
    gemm_task inner = task_of((sizes){batch, n, n}, rows_of(n), transposed(n), n);
    if (s->launch.linear_before_reset)
        inner = onto_bias(s, inner);
    return plan_matmul(p, s, BY_INNER, inner, err);
}

static status plan_backward(backend_program *p, recurrent_state *s, error *err)
{
    int64_t n = s->launch.hidden, batch = s->launch.batch, rows = s->launch.steps * batch;
    tile_matrix by_gate = rows_of(s->wide), of_gate = transposed(s->wide);
    gemm_task state = task_of((sizes){batch, n, s->plain}, by_gate, rows_of(n), n);
    gemm_task x =
        task_of((sizes){rows, s->inputs, s->wide}, by_gate, rows_of(s->inputs), s->inputs);
    gemm_task w =
        task_of((sizes){s->wide, s->inputs, rows}, of_gate, rows_of(s->inputs), s->inputs);
    gemm_task r = task_of((sizes){s->plain, n, rows}, of_gate, rows_of(n), n);
    TRY(plan_matmul(p, s, TO_STATE, onto(state, n), err));
    TRY(plan_matmul(p, s, TO_X, x, err));
    TRY(plan_matmul(p, s, TO_X_MORE, onto(x, s->inputs), err));
    TRY(plan_matmul(p, s, TO_W, w, err));
    TRY(plan_matmul(p, s, TO_R, r, err));
    if (s->launch.cell != CELL_GRU)
        return OK;
    gemm_task inner = task_of((sizes){batch, n, n}, rows_of(n), rows_of(n), n);
    gemm_task r_inner = task_of((sizes){n, n, rows}, transposed(n), rows_of(n), n);
    TRY(plan_matmul(p, s, TO_INNER, inner, err));
    return plan_matmul(p, s, TO_R_INNER, r_inner, err);
}

static recurrent_state *describe(const cuda_node *n)
{
    recurrent_form f = recurrent_form_of(n->program->g, n->node);
    recurrent_state *s = cuda_node_alloc(n, sizeof *s);
    s->launch = (launch_recurrent){.cell = f.cell == OP_LSTM  ? CELL_LSTM
                                           : f.cell == OP_GRU ? CELL_GRU
                                                              : CELL_RNN,
                                   .steps = f.steps,
                                   .batch = f.batch,
                                   .hidden = f.hidden,
                                   .gates = f.gates,
                                   .linear_before_reset = f.linear_before_reset,
                                   .relu = f.relu,
                                   .wide_lengths = f.wide_lengths,
                                   .y_step = f.directions * f.batch * f.hidden};
    s->inputs = f.inputs;
    s->directions = f.directions;
    s->wide = f.gates * f.hidden;
    s->plain = f.cell == OP_GRU ? 2 * f.hidden : s->wide;
    s->reverse_only = f.reverse_only;
    s->has_bias = cuda_in(n, RECURRENT_B);
    return s;
}

/* Scratch of its own, and behind it the most that a matmul needs. */
static void measure(cuda_node *n, recurrent_state *s, bool backward)
{
    pass p = {.r = s->launch};
    pieces count = {0};
    size_t most = 0;
    place(s, &p, backward, &count);
    s->own_bytes = count.used;
    for (int i = 0; i < MATMULS; i++)
        most = s->matmuls[i].scratch_bytes > most ? s->matmuls[i].scratch_bytes : most;
    n->scratch_bytes = s->own_bytes + most;
    n->state = s;
}

/* --- running --- */

/* Row d of an operand whose first axis is the direction. */
static float *part_of(const void *base, int64_t d, int64_t floats)
{
    return base ? (float *)(uintptr_t)base + d * floats : NULL;
}

static pass pass_of(const cuda_node *node, const cuda_call *c, int64_t d, bool backward)
{
    const recurrent_state *s = node->state;
    int64_t n = s->launch.hidden, states = s->launch.batch * n, all = s->launch.steps * states;
    pass p = {.s = s, .call = c, .r = s->launch};
    pieces from = {.base = c->scratch};
    launch_recurrent *r = &p.r;
    p.x = c->in[RECURRENT_X];
    p.w = part_of(c->in[RECURRENT_W], d, s->wide * s->inputs);
    p.weights = part_of(c->in[RECURRENT_R], d, s->wide * n);
    p.bias = part_of(c->in[RECURRENT_B], d, 2 * s->wide);
    p.matmul_scratch = (char *)c->scratch + s->own_bytes;
    r->reverse = s->reverse_only || d == 1;
    r->lengths = c->in[RECURRENT_LENGTHS];
    r->h0 = part_of(c->in[RECURRENT_H0], d, states);
    if (r->cell == CELL_LSTM) {
        r->c0 = part_of(c->in[RECURRENT_C0], d, states);
        r->peep = part_of(c->in[RECURRENT_P], d, 3 * n);
    }
    place(s, &p, backward, &from);
    r->y = part_of(backward ? c->in[RECURRENT_Y] : c->out[0], d, states);
    if (r->cell != CELL_RNN) {
        r->gate = part_of(backward ? c->in[RECURRENT_GATES] : c->out[3], d, all * r->gates);
        r->inner = part_of(backward ? c->in[RECURRENT_INNER] : c->out[4], d, all);
    }
    return p;
}

static status multiply(const pass *p, matmul_place which, const float *a, const float *b,
                       const float *c, float *y, error *err)
{
    const cuda_matmul *t = &p->s->matmuls[which];
    if (t->task.m == 0 || t->task.n == 0)
        return OK;
    matmul_operands o = {.a = a, .b = b, .c = c, .y = y};
    return cuda_matmul_run(t, p->call->stream, &o, p->matmul_scratch, err);
}

/* to[n] = from[n], or zeros without it */
static status copy(const pass *p, float *to, const float *from, int64_t n, error *err)
{
    size_t bytes = (size_t)n * sizeof(float);
    if (bytes == 0)
        return OK;
    if (!from)
        return device_check(cudaMemsetAsync(to, 0, bytes, p->call->stream), "clearing", err);
    return device_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, p->call->stream),
                        "a copy", err);
}

/* Step number i in the order in which the direction walks. */
static int64_t step_at(const pass *p, int64_t i)
{
    return p->r.reverse ? p->r.steps - 1 - i : i;
}

static status walk_step(const pass *p, int64_t t, error *err)
{
    const launch_recurrent *r = &p->r;
    int64_t n = r->hidden, rows = t * r->batch;
    float *gate = r->gate + rows * p->s->wide;
    TRY(multiply(p, BY_STATE, r->h, p->weights, gate, gate, err));
    if (r->cell == CELL_GRU) {
        const float *bias = p->bias ? p->bias + p->s->wide + 2 * n : NULL;
        launch_gru_open(p->call->stream, r, t);
        TRY(multiply(p, BY_INNER, r->linear_before_reset ? r->h : r->reset_h,
                     p->weights + 2 * n * n, bias, r->inner + rows * n, err));
    }
    launch_recurrent_step(p->call->stream, r, t);
    return OK;
}

static status walk(const pass *p, error *err)
{
    const launch_recurrent *r = &p->r;
    int64_t states = r->batch * r->hidden;
    if (p->bias)
        launch_recurrent_bias(p->call->stream, r, p->gate_bias, p->bias);
    TRY(multiply(p, BY_X, p->x, p->w, p->gate_bias, r->gate, err));
    TRY(copy(p, r->h, r->h0, states, err));
    TRY(copy(p, r->c, r->c0, states, err));
    for (int64_t i = 0; i < r->steps; i++)
        TRY(walk_step(p, step_at(p, i), err));
    return OK;
}

static status run_recurrent(const cuda_node *n, const cuda_call *c, error *err)
{
    const recurrent_state *s = n->state;
    int64_t states = s->launch.batch * s->launch.hidden;
    for (int64_t d = 0; d < s->directions; d++) {
        pass p = pass_of(n, c, d, false);
        TRY(walk(&p, err));
        TRY(copy(&p, part_of(c->out[1], d, states), p.r.h, states, err));
        if (c->out[2])
            TRY(copy(&p, part_of(c->out[2], d, states), p.r.c, states, err));
    }
    return OK;
}

static status walk_step_back(const pass *p, int64_t t, error *err)
{
    const launch_recurrent *r = &p->r;
    int64_t n = r->hidden, rows = t * r->batch;
    launch_recurrent_step_bwd(p->call->stream, r, t);
    if (r->cell == CELL_GRU) {
        TRY(multiply(p, TO_INNER, r->dinner + rows * n, p->weights + 2 * n * n, NULL, r->reset_h,
                     err));
        launch_gru_reset_bwd(p->call->stream, r, t);
    }
    return multiply(p, TO_STATE, r->dgate + rows * p->s->wide, p->weights, r->dh_direct, r->dh,
                    err);
}

static status walk_back(pass *p, int64_t d, error *err)
{
    const cuda_call *c = p->call;
    launch_recurrent *r = &p->r;
    int64_t states = r->batch * r->hidden;
    r->dy = part_of(c->in[RECURRENT_DY], d, states);
    TRY(copy(p, r->dh, part_of(c->in[RECURRENT_DY_H], d, states), states, err));
    TRY(copy(p, r->dc, part_of(c->in[RECURRENT_DY_C], d, states), states, err));
    launch_recurrent_before(c->stream, r);
    for (int64_t i = r->steps - 1; i >= 0; i--)
        TRY(walk_step_back(p, step_at(p, i), err));
    return OK;
}

static status find_dweights(const pass *p, float *dw, float *dr, error *err)
{
    const launch_recurrent *r = &p->r;
    int64_t n = r->hidden;
    if (dw)
        TRY(multiply(p, TO_W, r->dgate, p->x, NULL, dw, err));
    if (!dr)
        return OK;
    TRY(multiply(p, TO_R, r->dgate, r->h_before, NULL, dr, err));
    if (r->dinner)
        TRY(multiply(p, TO_R_INNER, r->dinner, r->inner_in, NULL, dr + p->s->plain * n, err));
    return OK;
}

static status find_dbias(const pass *p, float *db, error *err)
{
    const launch_recurrent *r = &p->r;
    int64_t n = r->hidden, wide = p->s->wide;
    launch_recurrent_sums(p->call->stream, r, db, r->dgate, wide);
    TRY(copy(p, db + wide, db, wide, err));
    if (r->dinner)
        launch_recurrent_sums(p->call->stream, r, db + wide + 2 * n, r->dinner, n);
    return OK;
}

/* The gradients of direction d, after its walk. */
static status find_gradients(const pass *p, int64_t d, error *err)
{
    const cuda_call *c = p->call;
    const launch_recurrent *r = &p->r;
    int64_t n = r->hidden, wide = p->s->wide, states = r->batch * n;
    float *dx = c->out[RECURRENT_X];
    if (dx)
        TRY(multiply(p, d > 0 ? TO_X_MORE : TO_X, r->dgate, p->w, dx, dx, err));
    TRY(find_dweights(p, part_of(c->out[RECURRENT_W], d, wide * p->s->inputs),
                      part_of(c->out[RECURRENT_R], d, wide * n), err));
    if (c->out[RECURRENT_B])
        TRY(find_dbias(p, part_of(c->out[RECURRENT_B], d, 2 * wide), err));
    if (c->out[RECURRENT_H0])
        TRY(copy(p, part_of(c->out[RECURRENT_H0], d, states), r->dh, states, err));
    if (c->out[RECURRENT_C0])
        TRY(copy(p, part_of(c->out[RECURRENT_C0], d, states), r->dc, states, err));
    if (c->out[RECURRENT_P])
        launch_lstm_peepholes(c->stream, r, part_of(c->out[RECURRENT_P], d, 3 * n));
    return OK;
}

static status run_recurrent_bwd(const cuda_node *n, const cuda_call *c, error *err)
{
    const recurrent_state *s = n->state;
    for (int64_t d = 0; d < s->directions; d++) {
        pass p = pass_of(n, c, d, true);
        TRY(walk_back(&p, d, err));
        TRY(find_gradients(&p, d, err));
    }
    return OK;
}

static const char *why_not_all(const recurrent_state *s)
{
    for (int i = 0; i < MATMULS; i++)
        if (s->matmuls[i].why)
            return s->matmuls[i].why;
    return NULL;
}

status cuda_plan_recurrent(cuda_node *n)
{
    bool backward = graph_op_of(n->node->op)->traits & OP_BACKWARD;
    recurrent_state *s = describe(n);
    TRY(backward ? plan_backward(n->program, s, n->err) : plan_forward(n->program, s, n->err));
    measure(n, s, backward);
    cuda_node_by(n, "cuBLASLt", why_not_all(s));
    n->body = backward ? run_recurrent_bwd : run_recurrent;
    return OK;
}
