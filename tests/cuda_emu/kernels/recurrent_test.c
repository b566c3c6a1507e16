/*
 * What LSTM, GRU and RNN do between their matmuls, against plain loops in double: steps in both
 * directions, sequences that end early, states and peepholes that are there or not; nothing is
 * multiplied, so the matmuls' parts are whatever was drawn.
 */
#include "cuda_emu/kernel_test.h"

#include "backend/cuda/kernels/recurrent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 5, BATCH = 3, HIDDEN = 45, STATES = BATCH * HIDDEN, ALL = STEPS * STATES };
/* The other direction's numbers stand between those of a step. */
enum { Y_STEP = 2 * STATES };

/* A field of launch_recurrent: on the device, drawn as float, and what it should become. */
typedef struct field {
    const char *name;
    size_t n;
    float *device;
    double *want;
} field;

enum {
    H0,
    C0,
    PEEP,
    Y,
    GATE,
    INNER,
    H,
    C,
    RESET_H,
    DY,
    DH,
    DC,
    DH_DIRECT,
    DGATE,
    DINNER,
    H_BEFORE,
    INNER_IN,
    BIAS,
    FIELDS
};

typedef struct scene {
    launch_cell cell;
    bool reverse, linear, relu, wide_lengths, has_lengths, has_states;
} scene;

typedef struct stage {
    scene s;
    launch_recurrent r;
    int64_t gates, lengths[BATCH];
    field f[FIELDS];
} stage;

static void draw(field *f, const char *name, size_t n, uint32_t seed)
{
    float *x = malloc(n * sizeof *x);
    random_floats(x, n, seed);
    *f = (field){name, n, on_device(x, n * sizeof *x), malloc(n * sizeof *f->want)};
    for (size_t i = 0; i < n; i++)
        f->want[i] = (double)x[i];
    free(x);
}

static const void *lengths_of(stage *g)
{
    static const int64_t wide[BATCH] = {STEPS, 2, 0};
    int32_t narrow[BATCH];
    for (int b = 0; b < BATCH; b++) {
        narrow[b] = (int32_t)wide[b];
        g->lengths[b] = g->s.has_lengths ? wide[b] : STEPS;
    }
    if (!g->s.has_lengths)
        return NULL;
    return g->s.wide_lengths ? on_device(wide, sizeof wide) : on_device(narrow, sizeof narrow);
}

static stage stage_of(scene s)
{
    stage g = {.s = s, .gates = s.cell == CELL_LSTM ? 4 : s.cell == CELL_GRU ? 3 : 1};
    size_t wide = (size_t)g.gates * HIDDEN;
    const size_t sizes[FIELDS] = {STATES,
                                  STATES,
                                  3 * HIDDEN,
                                  STEPS * Y_STEP,
                                  wide * STEPS * BATCH,
                                  ALL,
                                  STATES,
                                  STATES,
                                  STATES,
                                  STEPS * Y_STEP,
                                  STATES,
                                  STATES,
                                  STATES,
                                  wide * STEPS * BATCH,
                                  ALL,
                                  ALL,
                                  ALL,
                                  2 * wide};
    static const char *const names[FIELDS] = {
        "h0",     "c0",       "peepholes", "y",     "gates", "inner",           "h",
        "c",      "r h",      "dy",        "dh",    "dc",    "dh past matmuls", "dgates",
        "dinner", "h before", "R_h times", "biases"};
    for (int i = 0; i < FIELDS; i++)
        draw(&g.f[i], names[i], sizes[i], (uint32_t)i + 1);
    bool has = s.has_states;
    g.r = (launch_recurrent){.cell = s.cell,
                             .steps = STEPS,
                             .batch = BATCH,
                             .hidden = HIDDEN,
                             .gates = g.gates,
                             .reverse = s.reverse,
                             .linear_before_reset = s.linear,
                             .relu = s.relu,
                             .wide_lengths = s.wide_lengths,
                             .lengths = lengths_of(&g),
                             .h0 = has ? g.f[H0].device : NULL,
                             .c0 = has ? g.f[C0].device : NULL,
                             .peep = has ? g.f[PEEP].device : NULL,
                             .y = g.f[Y].device,
                             .y_step = Y_STEP,
                             .gate = g.f[GATE].device,
                             .inner = g.f[INNER].device,
                             .h = g.f[H].device,
                             .c = g.f[C].device,
                             .reset_h = g.f[RESET_H].device,
                             .dy = has ? g.f[DY].device : NULL,
                             .dh = g.f[DH].device,
                             .dc = g.f[DC].device,
                             .dh_direct = g.f[DH_DIRECT].device,
                             .dgate = g.f[DGATE].device,
                             .h_before = g.f[H_BEFORE].device};
    if (s.cell == CELL_GRU) {
        g.r.dinner = g.f[DINNER].device;
        g.r.inner_in = s.linear ? g.r.h_before : g.f[INNER_IN].device;
    }
    return g;
}

static void expect(const stage *g, int which)
{
    const field *f = &g->f[which];
    char what[80];
    float *got = malloc(f->n * sizeof *got);
    from_device(got, f->device, f->n * sizeof *got);
    snprintf(what, sizeof what, "%s of cell %d%s", f->name, g->s.cell,
             g->s.reverse ? ", back" : "");
    assert_floats_close(what, got, f->want, f->n, 1e-6, 2e-6);
    free(got);
}

static void strike(stage *g)
{
    for (int i = 0; i < FIELDS; i++)
        free(g->f[i].want);
}

/* --- the reference: element j of example b in step t --- */

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double *gate_at(const stage *g, int which, int64_t t, int64_t b, int64_t k, int64_t j)
{
    return &g->f[which].want[((t * BATCH + b) * g->gates + k) * HIDDEN + j];
}

static double peep_at(const stage *g, int64_t k, int64_t j)
{
    return g->s.has_states ? g->f[PEEP].want[k * HIDDEN + j] : 0.0;
}

static void reference_step(const stage *g, int64_t t, int64_t b, int64_t j)
{
    size_t state = (size_t)(b * HIDDEN + j), row = (size_t)((t * BATCH + b) * HIDDEN + j);
    double *y = &g->f[Y].want[t * Y_STEP + b * HIDDEN + j], *h = &g->f[H].want[state];
    double *c = &g->f[C].want[state], *inner = &g->f[INNER].want[row];
    double *gate[4];
    for (int64_t k = 0; k < g->gates; k++)
        gate[k] = gate_at(g, GATE, t, b, k, j);
    if (g->s.cell == CELL_GRU) { /* opened whatever counts */
        *gate[0] = sigmoid(*gate[0]);
        *gate[1] = sigmoid(*gate[1]);
        g->f[RESET_H].want[state] = *gate[1] * *h;
    }
    if (t >= g->lengths[b]) {
        *y = 0.0;
        return;
    }
    if (g->s.cell == CELL_LSTM) {
        *gate[0] = sigmoid(*gate[0] + peep_at(g, 0, j) * *c);
        *gate[2] = sigmoid(*gate[2] + peep_at(g, 2, j) * *c);
        *gate[3] = tanh(*gate[3]);
        *inner = *c = *gate[2] * *c + *gate[0] * *gate[3];
        *gate[1] = sigmoid(*gate[1] + peep_at(g, 1, j) * *c);
        *y = *h = *gate[1] * tanh(*c);
    } else if (g->s.cell == CELL_GRU) {
        *gate[2] = tanh(*gate[2] + (g->s.linear ? *gate[1] : 1.0) * *inner);
        *y = *h = (1.0 - *gate[0]) * *gate[2] + *gate[0] * *h;
    } else {
        *y = *h = g->s.relu ? fmax(*gate[0], 0.0) : tanh(*gate[0]);
    }
}

static int64_t step_before(const stage *g, int64_t t, int64_t b)
{
    int64_t before = g->s.reverse ? t + 1 : t - 1;
    return before >= 0 && before < STEPS && before < g->lengths[b] ? before : -1;
}

static double cell_before(const stage *g, int64_t t, int64_t b, int64_t j)
{
    int64_t before = step_before(g, t, b);
    if (before >= 0)
        return g->f[INNER].want[(before * BATCH + b) * HIDDEN + j];
    return g->s.has_states ? g->f[C0].want[b * HIDDEN + j] : 0.0;
}

static void reference_before(const stage *g, int64_t t, int64_t b, int64_t j)
{
    int64_t before = step_before(g, t, b), row = (t * BATCH + b) * HIDDEN + j;
    double h = before >= 0       ? g->f[Y].want[before * Y_STEP + b * HIDDEN + j]
               : g->s.has_states ? g->f[H0].want[b * HIDDEN + j]
                                 : 0.0;
    h = t < g->lengths[b] ? h : 0.0;
    g->f[H_BEFORE].want[row] = h;
    if (g->s.cell == CELL_GRU && !g->s.linear)
        g->f[INNER_IN].want[row] = *gate_at(g, GATE, t, b, 1, j) * h;
}

static void reference_rest(const stage *g, int64_t t, int64_t b, int64_t j)
{
    for (int64_t k = 0; k < g->gates; k++)
        *gate_at(g, DGATE, t, b, k, j) = 0.0;
    if (g->s.cell == CELL_GRU)
        g->f[DINNER].want[(t * BATCH + b) * HIDDEN + j] = 0.0;
    g->f[DH_DIRECT].want[b * HIDDEN + j] = g->f[DH].want[b * HIDDEN + j];
}

/* GRU's z and candidate by dh; with the gradient of what the reset let through, its own too. */
static void reference_gru_bwd(const stage *g, int64_t t, int64_t b, int64_t j, double dh)
{
    size_t state = (size_t)(b * HIDDEN + j), row = (size_t)((t * BATCH + b) * HIDDEN + j);
    double z = *gate_at(g, GATE, t, b, 0, j), r = *gate_at(g, GATE, t, b, 1, j);
    double v = *gate_at(g, GATE, t, b, 2, j), h = g->f[H_BEFORE].want[row];
    double dv = dh * (1.0 - z) * (1.0 - v * v), through = g->f[RESET_H].want[state];
    double dr = g->s.linear ? dv * g->f[INNER].want[row] : through * h;
    *gate_at(g, DGATE, t, b, 0, j) = dh * (h - v) * z * (1.0 - z);
    *gate_at(g, DGATE, t, b, 1, j) = dr * r * (1.0 - r);
    *gate_at(g, DGATE, t, b, 2, j) = dv;
    g->f[DINNER].want[row] = g->s.linear ? dv * r : dv;
    g->f[DH_DIRECT].want[state] = dh * z + through * (g->s.linear ? 1.0 : r);
}

static void reference_step_bwd(const stage *g, int64_t t, int64_t b, int64_t j)
{
    size_t state = (size_t)(b * HIDDEN + j), at = (size_t)(t * Y_STEP) + state;
    double dh = g->f[DH].want[state] + (g->s.has_states ? g->f[DY].want[at] : 0.0);
    if (t >= g->lengths[b]) {
        reference_rest(g, t, b, j);
        return;
    }
    g->f[DH_DIRECT].want[state] = 0.0;
    if (g->s.cell == CELL_GRU)
        reference_gru_bwd(g, t, b, j, dh);
    if (g->s.cell == CELL_RNN) {
        double y = g->f[Y].want[at];
        *gate_at(g, DGATE, t, b, 0, j) = dh * (g->s.relu ? y > 0.0 : 1.0 - y * y);
    }
    if (g->s.cell != CELL_LSTM)
        return;
    double i = *gate_at(g, GATE, t, b, 0, j), o = *gate_at(g, GATE, t, b, 1, j);
    double f = *gate_at(g, GATE, t, b, 2, j), v = *gate_at(g, GATE, t, b, 3, j);
    double th = tanh(g->f[INNER].want[(t * BATCH + b) * HIDDEN + j]), c = cell_before(g, t, b, j);
    double d_o = dh * th * o * (1.0 - o), *dc = &g->f[DC].want[state];
    double after = *dc + dh * o * (1.0 - th * th) + d_o * peep_at(g, 1, j);
    double di = after * v * i * (1.0 - i), df = after * c * f * (1.0 - f);
    *gate_at(g, DGATE, t, b, 0, j) = di;
    *gate_at(g, DGATE, t, b, 1, j) = d_o;
    *gate_at(g, DGATE, t, b, 2, j) = df;
    *gate_at(g, DGATE, t, b, 3, j) = after * i * (1.0 - v * v);
    *dc = after * f + di * peep_at(g, 0, j) + df * peep_at(g, 2, j);
}

static void each(const stage *g, int64_t t, void (*f)(const stage *, int64_t, int64_t, int64_t))
{
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t j = 0; j < HIDDEN; j++)
            f(g, t, b, j);
}

/* --- the walks --- */

static void walk(const stage *g)
{
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t t = g->s.reverse ? STEPS - 1 - i : i;
        if (g->s.cell == CELL_GRU)
            launch_gru_open(kernel_test_stream(), &g->r, t);
        launch_recurrent_step(kernel_test_stream(), &g->r, t);
        each(g, t, reference_step);
    }
    const int seen[] = {Y, GATE, INNER, H, C, RESET_H};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        expect(g, seen[i]);
}

static void walk_back(const stage *g)
{
    launch_recurrent_before(kernel_test_stream(), &g->r);
    for (int64_t t = 0; t < STEPS; t++)
        each(g, t, reference_before);
    for (int64_t i = STEPS - 1; i >= 0; i--) {
        int64_t t = g->s.reverse ? STEPS - 1 - i : i;
        launch_recurrent_step_bwd(kernel_test_stream(), &g->r, t);
        if (g->s.cell == CELL_GRU)
            launch_gru_reset_bwd(kernel_test_stream(), &g->r, t);
        each(g, t, reference_step_bwd);
    }
    const int seen[] = {H_BEFORE, INNER_IN, DGATE, DINNER, DH, DC, DH_DIRECT};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        expect(g, seen[i]);
}

static void expect_row(const char *what, const float *device, const double *want, size_t n)
{
    float got[4 * HIDDEN];
    from_device(got, device, n * sizeof *got);
    assert_floats_close(what, got, want, n, 2e-6, 2e-6);
}

static void add_up(const stage *g)
{
    size_t wide = (size_t)g->gates * HIDDEN, rows = STEPS * BATCH;
    float *sums = device_alloc(wide * sizeof *sums),
          *peep = device_alloc(3 * HIDDEN * sizeof *peep);
    float *bias = device_alloc(wide * sizeof *bias);
    double want[4 * HIDDEN] = {0}, want_peep[3 * HIDDEN] = {0}, want_bias[4 * HIDDEN];
    for (size_t i = 0; i < rows * wide; i++)
        want[i % wide] += g->f[DGATE].want[i];
    for (size_t j = 0; j < wide; j++) {
        bool apart = g->s.cell == CELL_GRU && g->s.linear && j >= 2 * HIDDEN;
        want_bias[j] = g->f[BIAS].want[j] + (apart ? 0.0 : g->f[BIAS].want[wide + j]);
    }
    launch_recurrent_sums(kernel_test_stream(), &g->r, sums, g->r.dgate, (int64_t)wide);
    launch_recurrent_bias(kernel_test_stream(), &g->r, bias, g->f[BIAS].device);
    expect_row("sums of gates", sums, want, wide);
    expect_row("biases", bias, want_bias, wide);
    if (g->s.cell != CELL_LSTM)
        return;
    for (int64_t t = 0; t < STEPS; t++)
        for (int64_t b = 0; b < BATCH; b++)
            for (int64_t j = 0; j < 3 * HIDDEN && t < g->lengths[b]; j++)
                want_peep[j] +=
                    *gate_at(g, DGATE, t, b, j / HIDDEN, j % HIDDEN) *
                    (j / HIDDEN == 1 ? g->f[INNER].want[(t * BATCH + b) * HIDDEN + j % HIDDEN]
                                     : cell_before(g, t, b, j % HIDDEN));
    launch_lstm_peepholes(kernel_test_stream(), &g->r, peep);
    expect_row("peepholes", peep, want_peep, 3 * HIDDEN);
}

static void play(void **state)
{
    stage g = stage_of(*(const scene *)*state);
    walk(&g);
    walk_back(&g);
    add_up(&g);
    strike(&g);
}

static void nothing_is_launched_for_nothing(void **state)
{
    (void)state;
    launch_recurrent r = {.cell = CELL_GRU, .hidden = 4, .gates = 3};
    launch_gru_open(kernel_test_stream(), &r, 0);
    launch_recurrent_step(kernel_test_stream(), &r, 0);
    launch_recurrent_before(kernel_test_stream(), &r);
    launch_recurrent_step_bwd(kernel_test_stream(), &r, 0);
}

static const scene scenes[] = {
    {CELL_LSTM, .has_lengths = true, .wide_lengths = true, .has_states = true},
    {CELL_LSTM, .reverse = true, .has_lengths = true, .has_states = true},
    {CELL_LSTM, .reverse = true},
    {CELL_GRU, .has_lengths = true, .has_states = true},
    {CELL_GRU, .linear = true, .reverse = true, .has_lengths = true, .has_states = true},
    {CELL_RNN, .has_lengths = true, .wide_lengths = true},
    {CELL_RNN, .relu = true, .reverse = true, .has_states = true},
};

int main(void)
{
    enum { SCENES = sizeof scenes / sizeof *scenes };
    struct CMUnitTest tests[SCENES + 1] = {KERNEL_TEST(nothing_is_launched_for_nothing)};
    for (int i = 0; i < SCENES; i++) {
        tests[1 + i] = (struct CMUnitTest)KERNEL_TEST(play);
        tests[1 + i].initial_state = (void *)(uintptr_t)&scenes[i];
    }
    return kernel_tests_run(tests, SCENES + 1);
}
