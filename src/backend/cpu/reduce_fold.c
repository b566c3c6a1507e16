/*
 * Reductions that are no sums: ReduceMax, ReduceMin, ReduceProd, ReduceLogSumExp, and the gradient
 * of a product. A reduced last axis runs over lanes, a kept one in strips of columns; both orders
 * are fixed. A largest or smallest of anything with a NaN is NaN.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/reduce.h"
#include "backend/cpu/team.h"
#include "backend/math.h"
#include "backend/product.h"
#include "common/base/alloc.h"

/* acc takes in a row: n elements one to a lane in turn, or `width` columns of each of `rows` rows.
 */
typedef struct fold_loops {
    void (*run)(float lane[LANES], const float *x, int64_t n);
    void (*rows)(float *acc, const float *x, int64_t rows, int64_t stride, int width);
    float (*join)(float a, float b);
    float start;
} fold_loops;

#define FOLD(name, begins, expression)                                                             \
    INLINE float join_##name##_inline(float a, float b)                                            \
    {                                                                                              \
        return expression;                                                                         \
    }                                                                                              \
    static float join_##name(float a, float b)                                                     \
    {                                                                                              \
        return join_##name##_inline(a, b);                                                         \
    }                                                                                              \
    SIMD_CLONES static void run_##name(float lane[LANES], const float *x, int64_t n)               \
    {                                                                                              \
        int64_t whole = n / LANES * LANES;                                                         \
        for (int64_t i = 0; i < whole; i += LANES)                                                 \
            for (int j = 0; j < LANES; j++)                                                        \
                lane[j] = join_##name##_inline(lane[j], x[i + j]);                                 \
        for (int64_t i = whole; i < n; i++)                                                        \
            lane[i - whole] = join_##name##_inline(lane[i - whole], x[i]);                         \
    }                                                                                              \
    SIMD_CLONES static void rows_##name(float *acc, const float *x, int64_t rows, int64_t stride,  \
                                        int width)                                                 \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++)                                                         \
            for (int j = 0; j < width; j++)                                                        \
                acc[j] = join_##name##_inline(acc[j], x[r * stride + j]);                          \
    }                                                                                              \
    static const fold_loops name##_loops = {run_##name, rows_##name, join_##name, begins};

FOLD(max, -__builtin_inff(), b > a || b != b ? b : a)
FOLD(min, __builtin_inff(), b < a || b != b ? b : a)
FOLD(prod, 1.0f, (a * b))

typedef struct fold_state {
    reduce_space space;
    const fold_loops *loops;
    bool log_sum_exp;
} fold_state;

typedef struct fold_task {
    const fold_state *s;
    float *y;
    const float *x;
} fold_task;

SIMD_CLONES
static float sum_of_exp(const float *x, float max, int64_t n)
{
    float lane[LANES] = {0};
    int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int j = 0; j < LANES; j++)
            lane[j] += vec_exp(x[i + j] - max);
    for (int64_t i = whole; i < n; i++)
        lane[i - whole] += vec_exp(x[i] - max);
    return lanes_sum(lane);
}

/* An infinite largest is the result itself: a difference from it would be no number. */
static bool is_finite(float x)
{
    return x - x == 0.0f;
}

static float fold_position(const fold_state *s, const float *x)
{
    const reduce_space *space = &s->space;
    float lane[LANES];
    for (int j = 0; j < LANES; j++)
        lane[j] = s->loops->start;
    for (int64_t i = 0; i < space->reduced.count; i++)
        s->loops->run(lane, x + reduce_offset(&space->reduced, i), space->last);
    float all = lane[0];
    for (int j = 1; j < LANES; j++)
        all = s->loops->join(all, lane[j]);
    if (!s->log_sum_exp || !is_finite(all))
        return all;
    double sum = 0.0;
    for (int64_t i = 0; i < space->reduced.count; i++)
        sum += (double)sum_of_exp(x + reduce_offset(&space->reduced, i), all, space->last);
    return all + vec_log((float)sum);
}

static void fold_positions(int64_t begin, int64_t end, void *arg)
{
    const fold_task *t = arg;
    for (int64_t i = begin; i < end; i++)
        t->y[i] = fold_position(t->s, t->x + reduce_offset(&t->s->space.kept, i));
}

SIMD_CLONES
static void add_exp_rows(float *sum, const float *max, const float *x, int64_t rows, int64_t stride,
                         int width)
{
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < width; j++)
            sum[j] += vec_exp(x[r * stride + j] - max[j]);
}

static void fold_strip(const fold_state *s, float *y, const float *x, int width)
{
    const reduce_axes *a = &s->space.reduced;
    int64_t rows = a->rank ? a->dim[a->rank - 1] : 1;
    int64_t stride = a->rank ? a->stride[a->rank - 1] : 0;
    float acc[STRIP], sum[STRIP] = {0};
    for (int j = 0; j < width; j++)
        acc[j] = s->loops->start;
    for (int64_t i = 0; i < a->count; i += rows)
        s->loops->rows(acc, x + reduce_offset(a, i), rows, stride, width);
    for (int64_t i = 0; s->log_sum_exp && i < a->count; i += rows)
        add_exp_rows(sum, acc, x + reduce_offset(a, i), rows, stride, width);
    for (int j = 0; j < width; j++)
        y[j] = s->log_sum_exp && is_finite(acc[j]) ? acc[j] + vec_log(sum[j]) : acc[j];
}

static void fold_strips(int64_t begin, int64_t end, void *arg)
{
    const fold_task *t = arg;
    for (int64_t i = begin; i < end; i++) {
        reduce_strip strip = reduce_strip_at(&t->s->space, i);
        fold_strip(t->s, t->y + strip.y, t->x + strip.x, strip.width);
    }
}

static void run_fold(const cpu_node *n, const cpu_call *c)
{
    const fold_state *s = n->state;
    const reduce_space *space = &s->space;
    fold_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    if (space->last_reduced)
        team_for(space->kept.count, REDUCE_GRAIN / (reduce_depth(space) + 1) + 1, fold_positions,
                 &t);
    else
        team_for(reduce_n_strips(space), REDUCE_GRAIN / (space->reduced.count * STRIP + 1) + 1,
                 fold_strips, &t);
}

status reduce_plan_fold(cpu_node *n)
{
    fold_state *s = node_runs(n, run_fold, sizeof *s);
    reduce_space_of(n->node, &node_in(n, 0)->shape, &node_out(n, 0)->shape, &s->space);
    s->loops = n->node->op == OP_REDUCE_PROD  ? &prod_loops
               : n->node->op == OP_REDUCE_MIN ? &min_loops
                                              : &max_loops;
    s->log_sum_exp = n->node->op == OP_REDUCE_LOG_SUM_EXP;
    return OK;
}

typedef struct prod_bwd_task {
    const reduce_space *s;
    float *dx;
    const float *dy, *x;
} prod_bwd_task;

static void prod_bwd_position(const prod_bwd_task *t, int64_t k, double dy)
{
    int64_t n = reduce_depth(t->s);
    factors all = {.product = dy};
    for (int64_t i = 0; i < n; i++)
        factors_take(&all, (double)t->x[reduce_element(t->s, k, i)]);
    for (int64_t i = 0; i < n; i++) {
        int64_t e = reduce_element(t->s, k, i);
        t->dx[e] = (float)factors_but(&all, (double)t->x[e]);
    }
}

static void prod_bwd_positions(int64_t begin, int64_t end, void *arg)
{
    const prod_bwd_task *t = arg;
    for (int64_t k = begin; k < end; k++)
        prod_bwd_position(t, k, (double)t->dy[k]);
}

static void run_prod_bwd(const cpu_node *n, const cpu_call *c)
{
    const reduce_space *s = n->state;
    prod_bwd_task t = {.s = s, .dx = c->out[0], .dy = c->in[0], .x = c->in[1]};
    team_for(reduce_width(s), REDUCE_GRAIN / (reduce_depth(s) + 1) + 1, prod_bwd_positions, &t);
}

status cpu_plan_reduce_prod_bwd(cpu_node *n)
{
    reduce_space *s = node_runs(n, run_prod_bwd, sizeof *s);
    reduce_space_of(n->node, &node_in(n, 1)->shape, &node_in(n, 0)->shape, s);
    return OK;
}
