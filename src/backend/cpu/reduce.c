/*
 * Reductions that are sums: of the elements, of their sizes or of their squares, and what is made
 * of the sum at the end; and SumTo, which undoes broadcasting. Orders of summation are fixed: a
 * reduced last axis runs over lanes, then positions add up one after the other in double; a kept
 * last axis is cut into strips of STRIP columns, and rows add up in blocks of BLOCK, so long sums
 * stay accurate.
 */
#include "backend/cpu/reduce.h"

#include "backend/cpu/lanes.h"
#include "backend/cpu/team.h"
#include "backend/math.h"

#include <string.h>

enum { BLOCK = 64 };
enum { RUN = 4096 }; /* floats that are summed before going over to double */

/* The sum of a row; adding rows of STRIP columns, and of fewer, to sums that begin somewhere. */
typedef struct sum_loops {
    float (*run)(const float *x, int64_t n);
    void (*whole_rows)(float *sum, const float *x, int64_t rows, int64_t stride);
    void (*rows)(float *sum, const float *x, int64_t rows, int64_t stride, int width);
} sum_loops;

#define SUM_LOOPS(name, expression)                                                                \
    SIMD_CLONES static float run_##name(const float *p, int64_t n)                                 \
    {                                                                                              \
        float lane[LANES] = {0};                                                                   \
        int64_t whole = n / LANES * LANES;                                                         \
        for (int64_t i = 0; i < whole; i += LANES)                                                 \
            for (int j = 0; j < LANES; j++) {                                                      \
                const float x = p[i + j];                                                          \
                lane[j] += (expression);                                                           \
            }                                                                                      \
        for (int64_t i = whole; i < n; i++) {                                                      \
            const float x = p[i];                                                                  \
            lane[i - whole] += (expression);                                                       \
        }                                                                                          \
        return lanes_sum(lane);                                                                    \
    }                                                                                              \
    SIMD_CLONES static void whole_rows_##name(float *sum, const float *p, int64_t rows,            \
                                              int64_t stride)                                      \
    {                                                                                              \
        float lane[STRIP];                                                                         \
        memcpy(lane, sum, sizeof lane);                                                            \
        for (int64_t r = 0; r < rows; r++)                                                         \
            for (int j = 0; j < STRIP; j++) {                                                      \
                const float x = p[r * stride + j];                                                 \
                lane[j] += (expression);                                                           \
            }                                                                                      \
        memcpy(sum, lane, sizeof lane);                                                            \
    }                                                                                              \
    static void rows_##name(float *sum, const float *p, int64_t rows, int64_t stride, int width)   \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++)                                                         \
            for (int j = 0; j < width; j++) {                                                      \
                const float x = p[r * stride + j];                                                 \
                sum[j] += (expression);                                                            \
            }                                                                                      \
    }                                                                                              \
    static const sum_loops name##_loops = {run_##name, whole_rows_##name, rows_##name};

SUM_LOOPS(plain, x)
SUM_LOOPS(size, vec_abs(x))
SUM_LOOPS(square, (x * x))

typedef struct reduce_state {
    reduce_space space;
    const sum_loops *loops;
    graph_op op;
    float divisor; /* the mean's; 0: a sum */
} reduce_state;

typedef struct reduce_task {
    const reduce_state *s;
    float *y;
    const float *x;
} reduce_task;

static float finish(const reduce_state *s, float sum)
{
    if (s->op == OP_REDUCE_L2)
        return __builtin_sqrtf(sum);
    return s->op == OP_REDUCE_LOG_SUM ? vec_log(sum) : sum;
}

static float sum_position(const reduce_state *s, const float *x)
{
    const reduce_space *space = &s->space;
    double sum = 0.0;
    for (int64_t i = 0; i < space->reduced.count; i++) {
        const float *run = x + reduce_offset(&space->reduced, i);
        for (int64_t at = 0; at < space->last; at += RUN)
            sum += (double)s->loops->run(run + at, space->last - at < RUN ? space->last - at : RUN);
    }
    return s->divisor != 0.0f ? (float)(sum / (double)s->divisor) : finish(s, (float)sum);
}

static void sum_positions(int64_t begin, int64_t end, void *arg)
{
    const reduce_task *t = arg;
    for (int64_t i = begin; i < end; i++)
        t->y[i] = sum_position(t->s, t->x + reduce_offset(&t->s->space.kept, i));
}

static void add_rows(const sum_loops *loops, float *sum, const float *x, int64_t rows,
                     int64_t stride, int width)
{
    if (width == STRIP)
        loops->whole_rows(sum, x, rows, stride);
    else
        loops->rows(sum, x, rows, stride, width);
}

/* All rows of one strip: runs along the innermost reduced axis, BLOCK rows at a time. */
static void sum_strip(const reduce_state *s, float *y, const float *x, int width)
{
    float total[STRIP] = {0};
    const reduce_axes *a = &s->space.reduced;
    int64_t rows = a->rank ? a->dim[a->rank - 1] : 1;
    int64_t stride = a->rank ? a->stride[a->rank - 1] : 0;
    for (int64_t i = 0; i < a->count; i += rows) {
        const float *run = x + reduce_offset(a, i);
        for (int64_t r = 0; r < rows; r += BLOCK) {
            float part[STRIP] = {0};
            add_rows(s->loops, part, run + r * stride, rows - r < BLOCK ? rows - r : BLOCK, stride,
                     width);
            for (int j = 0; j < width; j++)
                total[j] += part[j];
        }
    }
    for (int j = 0; j < width; j++)
        y[j] = s->divisor != 0.0f ? total[j] / s->divisor : finish(s, total[j]);
}

static void sum_strips(int64_t begin, int64_t end, void *arg)
{
    const reduce_task *t = arg;
    for (int64_t i = begin; i < end; i++) {
        reduce_strip strip = reduce_strip_at(&t->s->space, i);
        sum_strip(t->s, t->y + strip.y, t->x + strip.x, strip.width);
    }
}

static void run_reduce(const cpu_node *n, const cpu_call *c)
{
    const reduce_state *s = n->state;
    const reduce_space *space = &s->space;
    reduce_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    if (space->last_reduced)
        team_for(space->kept.count, REDUCE_GRAIN / (reduce_depth(space) + 1) + 1, sum_positions,
                 &t);
    else
        team_for(reduce_n_strips(space), REDUCE_GRAIN / (space->reduced.count * STRIP + 1) + 1,
                 sum_strips, &t);
}

static const sum_loops *loops_of(graph_op op)
{
    switch (op) {
    case OP_REDUCE_L1:
        return &size_loops;
    case OP_REDUCE_L2:
    case OP_REDUCE_SUM_SQUARE:
        return &square_loops;
    default:
        return &plain_loops;
    }
}

static bool is_fold(graph_op op)
{
    return op == OP_REDUCE_MAX || op == OP_REDUCE_MIN || op == OP_REDUCE_PROD ||
           op == OP_REDUCE_LOG_SUM_EXP;
}

status cpu_plan_reduce(cpu_node *n)
{
    dtype t = node_in(n, 0)->dtype;
    if (t == DT_I64 || t == DT_I32)
        return reduce_plan_whole(n);
    if (t != DT_F32)
        return FAIL(n->err, E_UNSUPPORTED, "reductions of %s", dtype_name(t));
    if (is_fold(n->node->op))
        return reduce_plan_fold(n);
    reduce_state *s = node_runs(n, run_reduce, sizeof *s);
    reduce_space_of(n->node, &node_in(n, 0)->shape, &node_out(n, 0)->shape, &s->space);
    s->op = n->node->op;
    s->loops = loops_of(s->op);
    if (s->op == OP_REDUCE_MEAN)
        s->divisor = (float)reduce_depth(&s->space);
    return OK;
}
