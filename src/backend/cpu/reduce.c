/*
 * ReduceSum, ReduceMean and SumTo (which undoes broadcasting). The input's axes fall into kept and
 * summed ones; neighbours of one kind are one axis. Orders of summation are fixed: a summed last
 * axis runs over lanes, then positions add up one after the other in double; a kept last axis is
 * cut into strips of STRIP columns, and rows add up in blocks of BLOCK, so long sums stay accurate.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

#include <string.h>

enum { STRIP = 64, BLOCK = 64, REDUCE_GRAIN = 16384 };

typedef struct reduce_axes {
    int rank;
    int64_t dim[GRAPH_RANK], stride[GRAPH_RANK];
    int64_t count; /* positions of all axes here */
} reduce_axes;

typedef struct reduce_state {
    reduce_axes kept, summed; /* without the last axis */
    bool last_summed;
    int64_t last;  /* size of the last axis */
    float divisor; /* the mean's; 0: a sum */
} reduce_state;

typedef struct reduce_task {
    const reduce_state *s;
    float *y;
    const float *x;
} reduce_task;

static int64_t offset_of(const reduce_axes *a, int64_t position)
{
    int64_t offset = 0;
    for (int i = a->rank - 1; i >= 0; i--) {
        offset += position % a->dim[i] * a->stride[i];
        position /= a->dim[i];
    }
    return offset;
}

SIMD_CLONES
static float run_sum(const float *x, int64_t n)
{
    return lanes_row_sum(x, n);
}

enum { RUN = 4096 }; /* floats that are summed before going over to double */

static float sum_position(const reduce_state *s, const float *x)
{
    double sum = 0.0;
    for (int64_t i = 0; i < s->summed.count; i++) {
        const float *run = x + offset_of(&s->summed, i);
        for (int64_t at = 0; at < s->last; at += RUN)
            sum += (double)run_sum(run + at, s->last - at < RUN ? s->last - at : RUN);
    }
    return s->divisor != 0.0f ? (float)(sum / (double)s->divisor) : (float)sum;
}

static void sum_positions(int64_t begin, int64_t end, void *arg)
{
    const reduce_task *t = arg;
    for (int64_t i = begin; i < end; i++)
        t->y[i] = sum_position(t->s, t->x + offset_of(&t->s->kept, i));
}

SIMD_CLONES
static void add_whole_rows(float *sum, const float *x, int64_t rows, int64_t stride)
{
    float lane[STRIP];
    memcpy(lane, sum, sizeof lane);
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < STRIP; j++)
            lane[j] += x[r * stride + j];
    memcpy(sum, lane, sizeof lane);
}

static void add_rows(float *sum, const float *x, int64_t rows, int64_t stride, int width)
{
    if (width == STRIP) {
        add_whole_rows(sum, x, rows, stride);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < width; j++)
            sum[j] += x[r * stride + j];
}

/* All rows of one strip: runs along the innermost summed axis, BLOCK rows at a time. */
static void sum_strip(const reduce_state *s, float *y, const float *x, int width)
{
    float total[STRIP] = {0};
    const reduce_axes *a = &s->summed;
    int64_t rows = a->rank ? a->dim[a->rank - 1] : 1;
    int64_t stride = a->rank ? a->stride[a->rank - 1] : 0;
    for (int64_t i = 0; i < a->count; i += rows) {
        const float *run = x + offset_of(a, i);
        for (int64_t r = 0; r < rows; r += BLOCK) {
            float part[STRIP] = {0};
            add_rows(part, run + r * stride, rows - r < BLOCK ? rows - r : BLOCK, stride, width);
            for (int j = 0; j < width; j++)
                total[j] += part[j];
        }
    }
    for (int j = 0; j < width; j++)
        y[j] = s->divisor != 0.0f ? total[j] / s->divisor : total[j];
}

static void sum_strips(int64_t begin, int64_t end, void *arg)
{
    const reduce_task *t = arg;
    const reduce_state *s = t->s;
    int64_t per_row = (s->last + STRIP - 1) / STRIP;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = i / per_row, column = i % per_row * STRIP;
        int width = s->last - column < STRIP ? (int)(s->last - column) : STRIP;
        sum_strip(s, t->y + row * s->last + column, t->x + offset_of(&s->kept, row) + column,
                  width);
    }
}

static status run_reduce(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const reduce_state *s = n->state;
    reduce_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    if (s->last_summed) {
        int64_t work = s->summed.count * s->last;
        team_for(s->kept.count, REDUCE_GRAIN / (work + 1) + 1, sum_positions, &t);
    } else {
        int64_t strips = (s->last + STRIP - 1) / STRIP * s->kept.count;
        team_for(strips, REDUCE_GRAIN / (s->summed.count * STRIP + 1) + 1, sum_strips, &t);
    }
    return OK;
}

static void add_axis(reduce_axes *a, int64_t dim, int64_t stride)
{
    a->dim[a->rank] = dim;
    a->stride[a->rank++] = stride;
    a->count *= dim;
}

/* Which axes of x are summed. SumTo: those its target lacks or has with size 1. */
static void mark_summed(const cpu_node *n, const graph_shape *x, bool *ret)
{
    if (n->node->op == OP_SUM_TO) {
        const graph_shape *to = &node_out(n, 0)->shape;
        for (int i = 0; i < x->rank; i++) {
            int k = i - (x->rank - to->rank);
            ret[i] = k < 0 || to->dim[k] != x->dim[i];
        }
        return;
    }
    const reduce_attr *a = n->node->attr;
    for (int i = 0; i < x->rank; i++)
        ret[i] = a->n_axes == 0;
    for (int i = 0; i < a->n_axes; i++)
        ret[a->axes[i] < 0 ? a->axes[i] + x->rank : a->axes[i]] = true;
}

/* Merges neighbours of one kind; axes of size 1 go with their neighbour. */
static int collapse(const graph_shape *x, const bool *summed, int64_t *ret_dim, bool *ret_summed)
{
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->dim[i] == 1)
            continue;
        if (rank > 0 && ret_summed[rank - 1] == summed[i]) {
            ret_dim[rank - 1] *= x->dim[i];
            continue;
        }
        ret_dim[rank] = x->dim[i];
        ret_summed[rank++] = summed[i];
    }
    if (rank == 0) {
        ret_dim[0] = 1;
        ret_summed[0] = true;
        rank = 1;
    }
    return rank;
}

status plan_reduce(backend_program *p, cpu_node *n, error *err)
{
    const graph_value *x = node_in(n, 0);
    if (x->dtype != DT_F32)
        return FAIL(err, E_UNSUPPORTED, "sums of %s, known is float32", dtype_name(x->dtype));
    bool marked[GRAPH_RANK], summed[GRAPH_RANK];
    int64_t dim[GRAPH_RANK], stride = 1, count = 1;
    mark_summed(n, &x->shape, marked);
    int rank = collapse(&x->shape, marked, dim, summed);
    reduce_state *s = arena_alloc(p->arena, sizeof *s);
    s->kept.count = s->summed.count = 1;
    s->last = dim[rank - 1];
    s->last_summed = summed[rank - 1];
    int64_t strides[GRAPH_RANK];
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dim[i];
        count *= summed[i] ? dim[i] : 1;
    }
    for (int i = 0; i < rank - 1; i++)
        add_axis(summed[i] ? &s->summed : &s->kept, dim[i], strides[i]);
    s->divisor = n->node->op == OP_REDUCE_MEAN ? (float)count : 0.0f;
    n->body = run_reduce;
    n->state = s;
    return OK;
}
