/*
 * Add, Sub, Mul, Div with broadcasting. Operands of one shape run in whatever layout they have;
 * with broadcasting the result is walked row by row, each operand with strides of its own.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

enum { BINARY_GRAIN = 16384 };

/* One row; sa and sb are 1, or 0 for an operand that stays. */
typedef void (*binary_loop)(float *y, const float *a, int64_t sa, const float *b, int64_t sb,
                            int64_t n);

#define BINARY_LOOP(name, operator)                                                                \
    SIMD_CLONES static void name(float *y, const float *a, int64_t sa, const float *b, int64_t sb, \
                                 int64_t n)                                                        \
    {                                                                                              \
        if (sa && sb) {                                                                            \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = a[i] operator b[i];                                                         \
        } else if (sa) {                                                                           \
            const float stays = b[0];                                                              \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = a[i] operator stays;                                                        \
        } else {                                                                                   \
            const float stays = a[0];                                                              \
            SIMD_LOOP                                                                              \
            for (int64_t i = 0; i < n; i++)                                                        \
                y[i] = stays operator b[i * sb];                                                   \
        }                                                                                          \
    }

BINARY_LOOP(loop_add, +)
BINARY_LOOP(loop_sub, -)
BINARY_LOOP(loop_mul, *)
BINARY_LOOP(loop_div, /)

typedef struct binary_state {
    binary_loop loop;
    int rank;                /* of rows; the row itself is the last axis */
    int64_t dim[GRAPH_RANK]; /* neighbours that broadcast alike are one axis */
    int64_t a_stride[GRAPH_RANK], b_stride[GRAPH_RANK];
    int64_t rows;
} binary_state;

typedef struct binary_task {
    const binary_state *s;
    float *y;
    const float *a, *b;
} binary_task;

static void run_span(int64_t begin, int64_t end, void *arg)
{
    const binary_task *t = arg;
    t->s->loop(t->y + begin, t->a + begin, 1, t->b + begin, 1, end - begin);
}

static void run_rows(int64_t begin, int64_t end, void *arg)
{
    const binary_task *t = arg;
    const binary_state *s = t->s;
    int last = s->rank - 1;
    for (int64_t row = begin; row < end; row++) {
        int64_t a = 0, b = 0, rest = row;
        for (int i = last - 1; i >= 0; i--) {
            int64_t at = rest % s->dim[i];
            rest /= s->dim[i];
            a += at * s->a_stride[i];
            b += at * s->b_stride[i];
        }
        s->loop(t->y + row * s->dim[last], t->a + a, s->a_stride[last], t->b + b, s->b_stride[last],
                s->dim[last]);
    }
}

static status run_binary(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const binary_state *s = n->state;
    binary_task t = {.s = s, .y = c->out[0], .a = c->in[0], .b = c->in[1]};
    int64_t row = s->dim[s->rank - 1];
    if (s->rows == 1 && s->a_stride[s->rank - 1] && s->b_stride[s->rank - 1])
        team_for(row, BINARY_GRAIN, run_span, &t);
    else
        team_for(s->rows, BINARY_GRAIN / (row + 1) + 1, run_rows, &t);
    return OK;
}

/* Stride of each axis of y in an operand of shape x; 0 where x is broadcast. */
static void strides_in(const graph_shape *y, const graph_shape *x, int64_t *ret)
{
    int64_t stride = 1;
    for (int i = y->rank - 1, j = x->rank - 1; i >= 0; i--, j--) {
        ret[i] = j >= 0 && x->dim[j] > 1 ? stride : 0;
        stride *= j >= 0 ? x->dim[j] : 1;
    }
}

/* Folds each axis into its right neighbour where both operands go on as one. */
static void collapse(binary_state *s, const graph_shape *y, const int64_t *a, const int64_t *b)
{
    for (int i = 0; i < y->rank; i++) {
        if (y->dim[i] == 1)
            continue;
        int j = s->rank - 1;
        if (j >= 0 && s->a_stride[j] == a[i] * y->dim[i] && s->b_stride[j] == b[i] * y->dim[i]) {
            s->dim[j] *= y->dim[i];
            s->a_stride[j] = a[i];
            s->b_stride[j] = b[i];
            continue;
        }
        j = s->rank++;
        s->dim[j] = y->dim[i];
        s->a_stride[j] = a[i];
        s->b_stride[j] = b[i];
    }
    if (s->rank == 0) {
        s->dim[s->rank++] = 1;
        s->a_stride[0] = s->b_stride[0] = 1;
    }
    s->rows = 1;
    for (int i = 0; i < s->rank - 1; i++)
        s->rows *= s->dim[i];
}

static binary_loop loop_of(graph_op op)
{
    switch (op) {
    case OP_ADD:
        return loop_add;
    case OP_SUB:
        return loop_sub;
    case OP_MUL:
        return loop_mul;
    case OP_DIV:
        return loop_div;
    default:
        BUG("operator %d is not binary", (int)op);
    }
}

status plan_binary(backend_program *p, cpu_node *n, error *err)
{
    const graph_shape *a = &node_in(n, 0)->shape, *b = &node_in(n, 1)->shape;
    const graph_shape *y = &node_out(n, 0)->shape;
    if (node_out(n, 0)->dtype != DT_F32)
        return FAIL(err, E_UNSUPPORTED, "arithmetic in %s, known is float32",
                    dtype_name(node_out(n, 0)->dtype));
    binary_state *s = arena_alloc(p->arena, sizeof *s);
    s->loop = loop_of(n->node->op);
    n->body = run_binary;
    n->state = s;
    if (graph_shape_equal(a, b)) {
        s->rank = 1;
        s->rows = 1;
        s->a_stride[0] = s->b_stride[0] = 1;
        /* 0 / 0 is no zero */
        return node_follow(p, n, 2, n->node->op != OP_DIV, &s->dim[0], err);
    }
    int64_t a_stride[GRAPH_RANK], b_stride[GRAPH_RANK];
    strides_in(y, a, a_stride);
    strides_in(y, b, b_stride);
    collapse(s, y, a_stride, b_stride);
    return OK;
}
