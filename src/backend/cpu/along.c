/*
 * Operators that walk along one axis: ArgMax, ArgMin, Hardmax, CumSum. The tensor is [outer, axis,
 * inner]. Sums of floats are kept in double on the way.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "graph/axis_split.h"

#include <string.h>

enum { ALONG_GRAIN = 8192 }; /* elements */

typedef struct along_state {
    axis_split at;
    int64_t (*pick)(const void *x, int64_t n, int64_t step, bool smallest, bool last);
    void (*sum)(void *y, const void *x, int64_t n, int64_t step, bool exclusive);
    size_t element;
    bool smallest, last; /* ArgMin; of several alike */
    bool exclusive, reverse;
} along_state;

typedef struct along_task {
    const along_state *s;
    char *y;
    const char *x;
} along_task;

#define PICK(name, type)                                                                           \
    static int64_t pick_##name(const void *from, int64_t n, int64_t step, bool smallest,           \
                               bool last)                                                          \
    {                                                                                              \
        const type *x = from;                                                                      \
        int64_t at = 0;                                                                            \
        for (int64_t i = 1; i < n; i++) {                                                          \
            type a = x[i * step], b = x[at * step];                                                \
            if ((smallest ? a < b : a > b) || (last && a == b))                                    \
                at = i;                                                                            \
        }                                                                                          \
        return at;                                                                                 \
    }

PICK(f32, float)
PICK(i64, int64_t)
PICK(i32, int32_t)

/* A negative step walks from the end. */
#define CUMULATE(name, type, wide)                                                                 \
    static void sum_##name(void *to, const void *from, int64_t n, int64_t step, bool exclusive)    \
    {                                                                                              \
        const type *x = from;                                                                      \
        type *y = to;                                                                              \
        wide sum = 0;                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            wide before = sum;                                                                     \
            sum += (wide)x[i * step];                                                              \
            y[i * step] = (type)(exclusive ? before : sum);                                        \
        }                                                                                          \
    }

CUMULATE(f32, float, double)
CUMULATE(i64, int64_t, uint64_t)
CUMULATE(i32, int32_t, uint64_t)

/* Where line i of the tensor begins. */
static int64_t line_at(const along_state *s, int64_t i)
{
    return i / s->at.inner * s->at.n * s->at.inner + i % s->at.inner;
}

static void arg_lines(int64_t begin, int64_t end, void *arg)
{
    const along_task *t = arg;
    const along_state *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        const char *x = t->x + (size_t)line_at(s, i) * s->element;
        ((int64_t *)(void *)t->y)[i] = s->pick(x, s->at.n, s->at.inner, s->smallest, s->last);
    }
}

static void hardmax_lines(int64_t begin, int64_t end, void *arg)
{
    const along_task *t = arg;
    const along_state *s = t->s;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = line_at(s, i);
        int64_t top =
            pick_f32((const float *)(const void *)t->x + at, s->at.n, s->at.inner, false, false);
        for (int64_t k = 0; k < s->at.n; k++)
            ((float *)(void *)t->y)[at + k * s->at.inner] = k == top ? 1.0f : 0.0f;
    }
}

static void sum_lines(int64_t begin, int64_t end, void *arg)
{
    const along_task *t = arg;
    const along_state *s = t->s;
    int64_t back = s->reverse ? (s->at.n - 1) * s->at.inner : 0;
    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)(line_at(s, i) + back) * s->element;
        s->sum(t->y + at, t->x + at, s->at.n, s->reverse ? -s->at.inner : s->at.inner, s->exclusive);
    }
}

static void run_lines(const cpu_node *n, const cpu_call *c)
{
    const along_state *s = n->state;
    along_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(s->at.outer * s->at.inner, ALONG_GRAIN / (s->at.n + 1) + 1,
             s->sum    ? sum_lines
             : s->pick ? arg_lines
                       : hardmax_lines,
             &t);
}

static void choose_type(along_state *s, dtype t, bool sums)
{
    s->element = dtype_bytes(t);
    if (sums)
        s->sum = t == DT_F32 ? sum_f32 : t == DT_I64 ? sum_i64 : sum_i32;
    else
        s->pick = t == DT_F32 ? pick_f32 : t == DT_I64 ? pick_i64 : pick_i32;
}

status cpu_plan_along(cpu_node *n)
{
    const graph_value *x = node_in(n, 0);
    if (x->dtype != DT_F32 && x->dtype != DT_I64 && x->dtype != DT_I32)
        return FAIL(n->err, E_UNSUPPORTED, "%s along an axis", dtype_name(x->dtype));
    along_state *s = node_runs(n, run_lines, sizeof *s);
    int32_t axis;
    if (n->node->op == OP_CUM_SUM) {
        const cum_sum_attr *a = n->node->attr;
        axis = a->axis;
        s->exclusive = a->exclusive;
        s->reverse = a->reverse;
        choose_type(s, x->dtype, true);
    } else if (n->node->op == OP_HARDMAX) {
        axis = ((const axis_attr *)n->node->attr)->axis;
    } else {
        const arg_attr *a = n->node->attr;
        axis = a->axis;
        s->last = a->last;
        s->smallest = n->node->op == OP_ARG_MIN;
        choose_type(s, x->dtype, false);
    }
    s->at = axis_split_of(&x->shape, axis);
    return OK;
}
