/*
 * Softmax and LogSoftmax over one axis, and their gradients. The tensor is [outer, axis, inner];
 * with inner 1 a row is reduced over fixed lanes, otherwise LANES neighbours run side by side.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/softmax.h"

#include "backend/cpu/program.h"
#include "backend/cpu/rows.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "graph/axis_split.h"

#include <string.h>

enum { SOFTMAX_GRAIN = 8192 }; /* elements */

SIMD_CLONES
static float exp_sum(const float *x, float max, int64_t n)
{
    float lane[LANES] = {0};
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += vec_exp_below(x[i + j] - max);
    for (int64_t i = whole; i < n; i++)
        lane[i - whole] += vec_exp_below(x[i] - max);
    return lanes_sum(lane);
}

SIMD_CLONES
static void row_divide(float *y, float by, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] /= by;
}

SIMD_CLONES
static void row_subtract(float *y, const float *x, float max, float log_sum, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - max) - log_sum;
}

SIMD_CLONES
static void row_softmax_bwd(float *dx, const float *dy, const float *y, float dot, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        dx[i] = y[i] * (dy[i] - dot);
}

SIMD_CLONES
static void row_log_softmax_bwd(float *dx, const float *dy, const float *y, float sum, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        dx[i] = dy[i] - vec_exp(y[i]) * sum;
}

/* Whether nothing flows back through the row. */
static bool row_is_zero(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0.0f)
            return false;
    return true;
}

/* Where nothing flows back, nothing does through a row of NaN either: one that may look at nothing. */
static void row_bwd(float *dx, const float *dy, const float *y, int64_t n, bool log)
{
    float sum = log ? row_sum(dy, n) : row_dot(dy, y, n);
    bool may_be_zero = log ? sum == 0.0f : sum != sum;
    if (may_be_zero && row_is_zero(dy, n))
        memset(dx, 0, (size_t)n * sizeof *dx);
    else
        (log ? row_log_softmax_bwd : row_softmax_bwd)(dx, dy, y, sum, n);
}

void softmax_measure_row(const float *x, int64_t n, float *ret_max, float *ret_log_sum)
{
    *ret_max = row_max(x, n);
    *ret_log_sum = vec_log(exp_sum(x, *ret_max, n));
}

static void row_log_softmax(float *y, const float *x, int64_t n)
{
    float max, log_sum;
    softmax_measure_row(x, n, &max, &log_sum);
    row_subtract(y, x, max, log_sum, n);
}

static void row_softmax(float *y, const float *x, int64_t n)
{
    float sum = row_exp(y, x, row_max(x, n), n);
    row_divide(y, sum, n);
}

/* Columns: up to LANES neighbours of the inner axis, `step` elements from one to the next. */
SIMD_CLONES
static void measure_columns(const float *x, int64_t n, int64_t step, int width, float *max,
                            float *sum)
{
    for (int j = 0; j < width; j++) {
        max[j] = x[j];
        sum[j] = 0.0f;
    }
    for (int64_t i = 1; i < n; i++)
        for (int j = 0; j < width; j++)
            max[j] = x[i * step + j] > max[j] ? x[i * step + j] : max[j];
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++)
            sum[j] += vec_exp(x[i * step + j] - max[j]);
    for (int j = 0; j < width; j++)
        sum[j] = vec_log(sum[j]);
}

void softmax_measure_columns(const float *x, int64_t n, int64_t step, int width, float *ret_max,
                             float *ret_log_sum)
{
    measure_columns(x, n, step, width, ret_max, ret_log_sum);
}

SIMD_CLONES
static void columns_log_softmax(float *y, const float *x, int64_t n, int64_t step, int width)
{
    float max[LANES], log_sum[LANES];
    softmax_measure_columns(x, n, step, width, max, log_sum);
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++)
            y[i * step + j] = (x[i * step + j] - max[j]) - log_sum[j];
}

SIMD_CLONES
static void columns_softmax(float *y, const float *x, int64_t n, int64_t step, int width)
{
    float max[LANES], sum[LANES] = {0};
    for (int j = 0; j < width; j++)
        max[j] = x[j];
    for (int64_t i = 1; i < n; i++)
        for (int j = 0; j < width; j++)
            max[j] = x[i * step + j] > max[j] ? x[i * step + j] : max[j];
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++) {
            float e = vec_exp(x[i * step + j] - max[j]);
            y[i * step + j] = e;
            sum[j] += e;
        }
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++)
            y[i * step + j] /= sum[j];
}

SIMD_CLONES
static void columns_bwd(float *dx, const float *dy, const float *y, int64_t n, int64_t step,
                        int width, bool log)
{
    float sum[LANES] = {0};
    bool flows[LANES] = {false};
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++) {
            int64_t k = i * step + j;
            sum[j] += log ? dy[k] : dy[k] * y[k];
            flows[j] |= dy[k] != 0.0f;
        }
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < width; j++) {
            int64_t k = i * step + j;
            float gradient = log ? dy[k] - vec_exp(y[k]) * sum[j] : y[k] * (dy[k] - sum[j]);
            dx[k] = flows[j] ? gradient : 0.0f;
        }
}

typedef struct softmax_state {
    int64_t outer, axis, inner;
    bool log;
} softmax_state;

typedef struct softmax_task {
    const softmax_state *s;
    float *y;
    const float *x, *z; /* backward: x is dy, z is y */
} softmax_task;

static void forward_outer(int64_t begin, int64_t end, void *arg)
{
    const softmax_task *t = arg;
    const softmax_state *s = t->s;
    for (int64_t o = begin; o < end; o++) {
        float *y = t->y + o * s->axis * s->inner;
        const float *x = t->x + o * s->axis * s->inner;
        if (s->inner == 1) {
            (s->log ? row_log_softmax : row_softmax)(y, x, s->axis);
            continue;
        }
        for (int64_t i = 0; i < s->inner; i += LANES) {
            int width = s->inner - i < LANES ? (int)(s->inner - i) : LANES;
            (s->log ? columns_log_softmax : columns_softmax)(y + i, x + i, s->axis, s->inner,
                                                             width);
        }
    }
}

static void backward_outer(int64_t begin, int64_t end, void *arg)
{
    const softmax_task *t = arg;
    const softmax_state *s = t->s;
    for (int64_t o = begin; o < end; o++) {
        int64_t at = o * s->axis * s->inner;
        float *dx = t->y + at;
        const float *dy = t->x + at, *y = t->z + at;
        if (s->inner == 1)
            row_bwd(dx, dy, y, s->axis, s->log);
        else
            for (int64_t i = 0; i < s->inner; i += LANES) {
                int width = s->inner - i < LANES ? (int)(s->inner - i) : LANES;
                columns_bwd(dx + i, dy + i, y + i, s->axis, s->inner, width, s->log);
            }
    }
}

static int64_t outer_grain(const softmax_state *s)
{
    return SOFTMAX_GRAIN / (s->axis * s->inner + 1) + 1;
}

static void run_softmax(const cpu_node *n, const cpu_call *c)
{
    const softmax_state *s = n->state;
    softmax_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(s->outer, outer_grain(s), forward_outer, &t);
}

static void run_softmax_bwd(const cpu_node *n, const cpu_call *c)
{
    const softmax_state *s = n->state;
    softmax_task t = {.s = s, .y = c->out[0], .x = c->in[0], .z = c->in[1]};
    team_for(s->outer, outer_grain(s), backward_outer, &t);
}

static softmax_state *state_new(const cpu_node *n)
{
    const axis_attr *a = n->node->attr;
    axis_split at = axis_split_of(&node_in(n, 0)->shape, a->axis);
    softmax_state *s = node_alloc(n, sizeof *s);
    *s = (softmax_state){.outer = at.outer, .axis = at.n, .inner = at.inner};
    s->log = n->node->op == OP_LOG_SOFTMAX || n->node->op == OP_LOG_SOFTMAX_BWD;
    return s;
}

status cpu_plan_softmax(cpu_node *n)
{
    n->kernel = graph_op_of(n->node->op)->traits & OP_BACKWARD ? run_softmax_bwd : run_softmax;
    n->state = state_new(n);
    return OK;
}
