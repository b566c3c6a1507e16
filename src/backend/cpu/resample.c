/*
 * Resize and its gradient, and the gradient of padding with what is there: axis by axis, each a
 * sparse matrix (graph/taps.h) over [outer, n, inner]. Between axes the values lie in the
 * workspace.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/passes.h"

#include <string.h>

enum { RESAMPLE_GRAIN = 16384 }; /* elements */

typedef struct pass_task {
    const pass *p;
    float *y;
    const float *x;
    float outside;
} pass_task;

SIMD_CLONES
static void set_row(float *y, const float *x, float w, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = w * x[i];
}

SIMD_CLONES
static void set_row_of_two(float *y, const float *a, float wa, const float *b, float wb, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = wa * a[i] + wb * b[i];
}

SIMD_CLONES
static void add_to_row(float *y, const float *x, float w, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] += w * x[i];
}

/* Output row j of one outer. */
static void make_row(const pass_task *t, float *y, const float *x, int64_t j)
{
    const taps *m = &t->p->t;
    int64_t n = t->p->inner, k = m->begin[j], end = m->begin[j + 1];
    if (end == k)
        for (int64_t i = 0; i < n; i++)
            y[i] = t->outside;
    else if (end == k + 1 && m->weight[k] == 1.0f)
        memcpy(y, x + m->at[k] * n, (size_t)n * sizeof *y);
    else if (end == k + 1)
        set_row(y, x + m->at[k] * n, m->weight[k], n);
    else
        set_row_of_two(y, x + m->at[k] * n, m->weight[k], x + m->at[k + 1] * n, m->weight[k + 1],
                       n);
    for (k += 2; k < end; k++)
        add_to_row(y, x + m->at[k] * n, m->weight[k], n);
}

static void make_rows(int64_t begin, int64_t end, void *arg)
{
    const pass_task *t = arg;
    int64_t n = t->p->inner, rows = t->p->t.n_out;
    for (int64_t row = begin; row < end; row++)
        make_row(t, t->y + row * n, t->x + row / rows * t->p->t.n_in * n, row % rows);
}

/* Whether every output is one input as it is: nearest. */
static bool picks_whole_lines(const taps *m)
{
    for (int64_t j = 0; j < m->n_out; j++)
        if (m->begin[j + 1] != m->begin[j] + 1 || m->weight[m->begin[j]] != 1.0f)
            return false;
    return true;
}

/* The sum of zero and that one term, as make_lines has it: -0 becomes 0. */
SIMD_CLONES
static void pick_line(float *y, const float *x, const int64_t *at, int64_t n)
{
    SIMD_LOOP
    for (int64_t j = 0; j < n; j++)
        y[j] = 0.0f + x[at[j]];
}

static void pick_lines(int64_t begin, int64_t end, void *arg)
{
    const pass_task *t = arg;
    const taps *m = &t->p->t;
    for (int64_t o = begin; o < end; o++)
        pick_line(t->y + o * m->n_out, t->x + o * m->n_in, m->at, m->n_out);
}

/* Rows too narrow for a loop: element by element of a whole line. */
static void make_lines(int64_t begin, int64_t end, void *arg)
{
    const pass_task *t = arg;
    const taps *m = &t->p->t;
    int64_t n = t->p->inner;
    for (int64_t o = begin; o < end; o++) {
        float *y = t->y + o * m->n_out * n;
        const float *x = t->x + o * m->n_in * n;
        for (int64_t j = 0; j < m->n_out; j++)
            for (int64_t i = 0; i < n; i++) {
                float sum = m->begin[j] == m->begin[j + 1] ? t->outside : 0.0f;
                for (int64_t k = m->begin[j]; k < m->begin[j + 1]; k++)
                    sum += m->weight[k] * x[m->at[k] * n + i];
                y[j * n + i] = sum;
            }
    }
}

static void run_pass(const pass *p, float *y, const float *x, float outside)
{
    pass_task t = {.p = p, .y = y, .x = x, .outside = outside};
    if (pass_is_narrow(p)) {
        bool picks = p->inner == 1 && picks_whole_lines(&p->t);
        team_for(p->outer, RESAMPLE_GRAIN / (p->t.n_out * p->inner + 1) + 1,
                 picks ? pick_lines : make_lines, &t);
    } else {
        team_for(p->outer * p->t.n_out, RESAMPLE_GRAIN / (p->inner + 1) + 1, make_rows, &t);
    }
}

static void run_resample(const cpu_node *n, const cpu_call *c)
{
    const passes *s = n->state;
    float *buffers[] = {c->scratch, (float *)c->scratch + s->buffer};
    const float *x = c->in[0];
    if (s->n == 0)
        node_copy_apart(n, c);
    for (int i = 0; i < s->n; i++) {
        float *y = i == s->n - 1 ? c->out[0] : buffers[i % 2];
        run_pass(&s->pass[i], y, x, s->outside);
        x = y;
    }
}

status cpu_plan_resample(cpu_node *n)
{
    passes *s = node_runs(n, run_resample, sizeof *s);
    *s = passes_of(n->program->arena, n->node, &node_in(n, 0)->shape, &node_out(n, 0)->shape);
    n->scratch_bytes = s->n > 1 ? 2 * s->buffer * sizeof(float) : 0;
    return OK;
}
