#include "graph/matmul.h"

graph_shape matmul_matrix(const graph_shape *s, bool left)
{
    if (s->rank != 1)
        return *s;
    return (graph_shape){.rank = 2, .dim = {left ? 1 : s->dim[0], left ? s->dim[0] : 1}};
}

/* Axis j of the batches in an operand; 1 where it has none. */
static int64_t batch_dim(const matmul_shape *s, const graph_shape *x, int32_t j)
{
    int32_t i = x->rank - 2 - s->rank + j;
    return i >= 0 ? x->dim[i] : 1;
}

static void set_steps(const matmul_shape *s, const graph_shape *x, int64_t *ret)
{
    int64_t step = x->dim[x->rank - 1] * x->dim[x->rank - 2];
    for (int32_t j = s->rank - 1; j >= 0; j--) {
        ret[j] = batch_dim(s, x, j) > 1 ? step : 0;
        step *= batch_dim(s, x, j);
    }
}

static void set_steps_of_y(matmul_shape *s)
{
    int64_t step = s->m * s->n;
    for (int32_t j = s->rank - 1; j >= 0; j--) {
        s->y_step[j] = step;
        step *= s->dim[j];
    }
}

matmul_shape matmul_shape_of(const graph_shape *raw_a, const graph_shape *raw_b,
                             const matmul_attr *attr)
{
    graph_shape a = matmul_matrix(raw_a, true), b = matmul_matrix(raw_b, false);
    matmul_shape s = {.trans_a = attr->trans_a && raw_a->rank > 1,
                      .trans_b = attr->trans_b && raw_b->rank > 1,
                      .a_pitch = a.dim[a.rank - 1],
                      .b_pitch = b.dim[b.rank - 1],
                      .batches = 1};
    s.m = a.dim[a.rank - (s.trans_a ? 1 : 2)];
    s.k = a.dim[a.rank - (s.trans_a ? 2 : 1)];
    s.n = b.dim[b.rank - (s.trans_b ? 2 : 1)];
    s.rank = (a.rank > b.rank ? a.rank : b.rank) - 2;
    for (int32_t j = 0; j < s.rank; j++) {
        int64_t of_a = batch_dim(&s, &a, j), of_b = batch_dim(&s, &b, j);
        s.dim[j] = of_a > 1 ? of_a : of_b;
        s.batches *= s.dim[j];
    }
    set_steps(&s, &a, s.a_step);
    set_steps(&s, &b, s.b_step);
    set_steps_of_y(&s);
    if (b.rank == 2 && !s.trans_a) { /* the rows of all batches are one tall matrix */
        s.m *= s.batches;
        s.batches = 1;
        s.rank = 0;
    }
    return s;
}

int64_t matmul_begin(const matmul_shape *s, const int64_t *step, int64_t i)
{
    int64_t begin = 0;
    for (int32_t j = s->rank - 1; j >= 0; j--) {
        begin += i % s->dim[j] * step[j];
        i /= s->dim[j];
    }
    return begin;
}
