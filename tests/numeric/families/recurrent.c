/* LSTM, GRU and RNN. */
#include "common/base/alloc.h"
#include "numeric/support_cases_rows.h"
#include "numeric/support_reference_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const ref_tensor *in;
    int32_t n_in;
    int64_t batch, inputs, hidden, n_gates;
    int64_t d, b;
    const double *x, *h, *c; /* x of the step, the state before it */
} walk;

static double operand(const walk *w, int32_t place, int64_t i)
{
    return place < w->n_in && w->in[place].x ? w->in[place].x[i] : 0;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* x * W of unit j of a gate, with its bias */
static double from_x(const walk *w, int64_t gate, int64_t j)
{
    int64_t wide = w->n_gates * w->hidden, row = gate * w->hidden + j;
    double sum = operand(w, RECURRENT_B, w->d * 2 * wide + row);
    for (int64_t i = 0; i < w->inputs; i++)
        sum += w->x[i] * w->in[RECURRENT_W].x[(w->d * wide + row) * w->inputs + i];
    return sum;
}

/* h * R likewise */
static double from_h(const walk *w, const double *h, int64_t gate, int64_t j)
{
    int64_t wide = w->n_gates * w->hidden, row = gate * w->hidden + j;
    double sum = operand(w, RECURRENT_B, w->d * 2 * wide + wide + row);
    for (int64_t i = 0; i < w->hidden; i++)
        sum += h[i] * w->in[RECURRENT_R].x[(w->d * wide + row) * w->hidden + i];
    return sum;
}

static void lstm(const walk *w, double *h, double *c, double *gates)
{
    int64_t n = w->hidden;
    for (int64_t j = 0; j < n; j++) {
        double pi = operand(w, RECURRENT_P, w->d * 3 * n + j);
        double po = operand(w, RECURRENT_P, w->d * 3 * n + n + j);
        double pf = operand(w, RECURRENT_P, w->d * 3 * n + 2 * n + j);
        double i = sigmoid(from_x(w, 0, j) + from_h(w, w->h, 0, j) + pi * w->c[j]);
        double f = sigmoid(from_x(w, 2, j) + from_h(w, w->h, 2, j) + pf * w->c[j]);
        double new = tanh(from_x(w, 3, j) + from_h(w, w->h, 3, j));
        c[j] = f * w->c[j] + i * new;
        double o = sigmoid(from_x(w, 1, j) + from_h(w, w->h, 1, j) + po * c[j]);
        h[j] = o * tanh(c[j]);
        const double all[] = {i, o, f, new};
        for (int g = 0; g < 4; g++)
            gates[g * n + j] = all[g];
    }
}

static void gru(const walk *w, double *h, double *inner, double *gates, bool linear)
{
    int64_t n = w->hidden;
    double *reset = xcalloc((size_t)n, sizeof *reset);
    for (int64_t j = 0; j < n; j++) {
        gates[j] = sigmoid(from_x(w, 0, j) + from_h(w, w->h, 0, j));
        gates[n + j] = sigmoid(from_x(w, 1, j) + from_h(w, w->h, 1, j));
        reset[j] = gates[n + j] * w->h[j];
    }
    for (int64_t j = 0; j < n; j++) {
        inner[j] = from_h(w, linear ? w->h : reset, 2, j);
        double new = tanh(from_x(w, 2, j) + (linear ? gates[n + j] : 1) * inner[j]);
        gates[2 * n + j] = new;
        h[j] = (1 - gates[j]) * new + gates[j] * w->h[j];
    }
    free(reset);
}

static void rnn(const walk *w, double *h, bool relu)
{
    for (int64_t j = 0; j < w->hidden; j++) {
        double v = from_x(w, 0, j) + from_h(w, w->h, 0, j);
        h[j] = relu ? (v > 0 ? v : 0) : tanh(v);
    }
}

/* One example of one direction; h and c go from the initial to the final state. */
static void walk_example(walk *w, const ref_tensor *out, const recurrent_attr *a, double *h,
                         double *c)
{
    int64_t n = w->hidden, steps = w->in[0].shape.dim[0], wide = w->n_gates * n;
    int64_t directions = w->in[1].shape.dim[0];
    bool reverse = a->direction == RECURRENT_REVERSE || w->d == 1;
    int64_t length = RECURRENT_LENGTHS < w->n_in && w->in[RECURRENT_LENGTHS].x
                         ? (int64_t)w->in[RECURRENT_LENGTHS].x[w->b]
                         : steps;
    double *before = xcalloc((size_t)(2 * n + wide), sizeof *before), *gates = before + 2 * n;
    double *inner = xcalloc((size_t)n, sizeof *inner);
    for (int64_t i = 0; i < steps; i++) {
        int64_t t = reverse ? steps - 1 - i : i;
        if (t >= length)
            continue;
        memcpy(before, h, (size_t)n * sizeof *h);
        memcpy(before + n, c, (size_t)n * sizeof *c);
        w->x = w->in[0].x + (t * w->batch + w->b) * w->inputs;
        w->h = before;
        w->c = before + n;
        if (w->n_gates == 4)
            lstm(w, h, c, gates);
        else if (w->n_gates == 3)
            gru(w, h, inner, gates, a->linear_before_reset);
        else
            rnn(w, h, a->relu);
        memcpy(out[0].x + ((t * directions + w->d) * w->batch + w->b) * n, h,
               (size_t)n * sizeof *h);
    }
    free(before);
    free(inner);
}

void ref_recurrent(graph_op op, const ref_tensor *in, int32_t n_in, const ref_tensor *out,
                   const void *attr)
{
    (void)op;
    const recurrent_attr *a = attr;
    int64_t hidden = out[0].shape.dim[3], batch = in[0].shape.dim[1];
    walk w = {.in = in,
              .n_in = n_in,
              .batch = batch,
              .inputs = in[0].shape.dim[2],
              .hidden = hidden,
              .n_gates = in[1].shape.dim[1] / hidden};
    double *state = xcalloc((size_t)(2 * hidden), sizeof *state);
    memset(out[0].x, 0, (size_t)out[0].n * sizeof *out[0].x);
    for (w.d = 0; w.d < in[1].shape.dim[0]; w.d++) {
        for (w.b = 0; w.b < batch; w.b++) {
            int64_t at = (w.d * batch + w.b) * hidden;
            for (int64_t j = 0; j < hidden; j++) {
                state[j] = operand(&w, RECURRENT_H0, at + j);
                state[hidden + j] = operand(&w, RECURRENT_C0, at + j);
            }
            walk_example(&w, out, a, state, state + hidden);
            memcpy(out[1].x + at, state, (size_t)hidden * sizeof *state);
            if (out[2].x)
                memcpy(out[2].x + at, state + hidden, (size_t)hidden * sizeof *state);
        }
    }
    free(state);
}

/* --- cases --- */

#define LENGTHS(...)                                                                               \
    {                                                                                              \
        SHAPE(__VA_ARGS__), FILL_STEPS, DT_I32                                                     \
    }

#define WAY(...) .attr = ATTR(recurrent_attr, __VA_ARGS__)
/* What every cell goes through; G gates. Then attributes that go with every row. */
#define CELL(ID, what, G, ...)                                                                     \
    CASE(ID, what "no more than needed", 3, IN(X(3, 2, 5), X(1, G * 4, 5), X(1, G * 4, 4)),        \
         WAY(__VA_ARGS__)),                                                                        \
        CASE(ID, what "one step of one example", 4,                                                \
             IN(X(1, 1, 2), X(1, G * 3, 2), X(1, G * 3, 3), X(1, G * 6)), WAY(__VA_ARGS__)),       \
        CASE(ID, what "reverse, a state to begin with", 6,                                         \
             IN(X(4, 3, 2), X(1, G * 17, 2), X(1, G * 17, 17), X(1, G * 34), ABSENT, X(1, 3, 17)), \
             WAY(.direction = RECURRENT_REVERSE, __VA_ARGS__)),                                    \
        CASE(ID, what "both ways, lengths", 6,                                                     \
             IN(X(5, 4, 3), X(2, G * 6, 3), X(2, G * 6, 6), X(2, G * 12), LENGTHS(4), X(2, 4, 6)), \
             WAY(.direction = RECURRENT_BOTH, __VA_ARGS__)),                                       \
        CASE(ID, what "many examples", 4,                                                          \
             IN(X(3, 70, 9), X(1, G * 40, 9), X(1, G * 40, 40), X(1, G * 80)), WAY(__VA_ARGS__))

static const op_case recurrent_rows[] = {
    CELL(LSTM, "", 4, .hidden = ATTR_OPEN),
    CASE(LSTM, "peepholes, both ways, all operands", 8,
         IN(X(4, 3, 2), X(2, 20, 2), X(2, 20, 5), X(2, 40), LENGTHS(3), X(2, 3, 5), X(2, 3, 5),
            X(2, 15)),
         WAY(.hidden = 5, .direction = RECURRENT_BOTH)),
    CASE(LSTM, "peepholes without a bias", 8,
         IN(X(4, 2, 3), X(1, 12, 3), X(1, 12, 3), ABSENT, ABSENT, ABSENT, ABSENT, X(1, 9)),
         WAY(.hidden = 3)),
    CELL(GRU, "", 3, .hidden = ATTR_OPEN),
    CELL(GRU, "linear before reset, ", 3, .hidden = ATTR_OPEN, .linear_before_reset = true),
    CELL(RNN, "", 1, .hidden = ATTR_OPEN),
    CELL(RNN, "relu, ", 1, .hidden = ATTR_OPEN, .relu = true),
};
CASES(recurrent);
