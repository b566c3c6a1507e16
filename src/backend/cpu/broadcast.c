#include "backend/cpu/broadcast.h"

#include "backend/cpu/team.h"
#include "common/base/alloc.h"

enum { BROADCAST_GRAIN = 16384 }; /* elements */

typedef struct broadcast {
    broadcast_loop loop;
    int n_in;
    int rank;                /* of rows; the row itself is the last axis */
    int64_t dim[GRAPH_RANK]; /* neighbours that broadcast alike are one axis */
    int64_t stride[GRAPH_RANK][BROADCAST_IN];
    int64_t rows;
    size_t in_bytes[BROADCAST_IN], out_bytes; /* of an element */
} broadcast;

typedef struct broadcast_task {
    const broadcast *b;
    char *y;
    const char *x[BROADCAST_IN];
} broadcast_task;

/* Elements begin .. end of a row of the result. */
static void run_row(const broadcast_task *t, int64_t row, int64_t begin, int64_t end)
{
    const broadcast *b = t->b;
    int last = b->rank - 1;
    int64_t at[BROADCAST_IN] = {0}, rest = row;
    for (int i = last - 1; i >= 0; i--) {
        int64_t coordinate = rest % b->dim[i];
        rest /= b->dim[i];
        for (int k = 0; k < b->n_in; k++)
            at[k] += coordinate * b->stride[i][k];
    }
    const void *x[BROADCAST_IN] = {NULL};
    for (int k = 0; k < b->n_in; k++)
        x[k] = t->x[k] + (size_t)(at[k] + begin * b->stride[last][k]) * b->in_bytes[k];
    b->loop(t->y + (size_t)(row * b->dim[last] + begin) * b->out_bytes, x, b->stride[last],
            end - begin);
}

static void run_rows(int64_t begin, int64_t end, void *arg)
{
    const broadcast_task *t = arg;
    for (int64_t row = begin; row < end; row++)
        run_row(t, row, 0, t->b->dim[t->b->rank - 1]);
}

static int64_t pieces_of(int64_t length)
{
    return (length + BROADCAST_GRAIN - 1) / BROADCAST_GRAIN;
}

/* Long rows fall into pieces. */
static void run_pieces(int64_t begin, int64_t end, void *arg)
{
    const broadcast_task *t = arg;
    int64_t length = t->b->dim[t->b->rank - 1], pieces = pieces_of(length);
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % pieces * BROADCAST_GRAIN, to = from + BROADCAST_GRAIN;
        run_row(t, i / pieces, from, to < length ? to : length);
    }
}

static status run_broadcast(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const broadcast *b = n->state;
    broadcast_task t = {.b = b, .y = c->out[0]};
    for (int k = 0; k < b->n_in; k++)
        t.x[k] = c->in[k];
    int64_t length = b->dim[b->rank - 1];
    if (length > BROADCAST_GRAIN)
        team_for(b->rows * pieces_of(length), 1, run_pieces, &t);
    else
        team_for(b->rows, BROADCAST_GRAIN / (length + 1) + 1, run_rows, &t);
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

/* Whether all operands pass from the axis before into this one as into their own elements. */
static bool continues(const broadcast *b, int64_t dim, const int64_t (*stride)[GRAPH_RANK],
                      int axis)
{
    for (int k = 0; k < b->n_in; k++) {
        if (b->stride[b->rank - 1][k] != stride[k][axis] * dim)
            return false;
    }
    return true;
}

static void add_axis(broadcast *b, int64_t dim, const int64_t (*stride)[GRAPH_RANK], int axis)
{
    if (dim == 1)
        return;
    bool joins = b->rank > 0 && continues(b, dim, stride, axis);
    b->rank += !joins;
    b->dim[b->rank - 1] = joins ? b->dim[b->rank - 1] * dim : dim;
    for (int k = 0; k < b->n_in; k++)
        b->stride[b->rank - 1][k] = stride[k][axis];
}

static void collapse(broadcast *b, const cpu_node *n)
{
    const graph_shape *y = &node_out(n, 0)->shape;
    int64_t stride[BROADCAST_IN][GRAPH_RANK];
    for (int k = 0; k < b->n_in; k++)
        strides_in(y, &node_in(n, k)->shape, stride[k]);
    for (int i = 0; i < y->rank; i++)
        add_axis(b, y->dim[i], (const int64_t(*)[GRAPH_RANK])stride, i);
    if (b->rank == 0) {
        b->dim[b->rank++] = 1;
        for (int k = 0; k < b->n_in; k++)
            b->stride[0][k] = 1;
    }
    b->rows = 1;
    for (int i = 0; i < b->rank - 1; i++)
        b->rows *= b->dim[i];
}

/* All of one shape and float32: they may share a layout that is not row-major. */
static bool is_uniform(const cpu_node *n)
{
    const graph_value *y = node_out(n, 0);
    bool uniform = y->dtype == DT_F32;
    for (int k = 0; k < n->node->n_in; k++)
        uniform = uniform && node_in(n, k)->dtype == DT_F32 &&
                  graph_shape_equal(&node_in(n, k)->shape, &y->shape);
    return uniform;
}

static status plan_uniform(backend_program *p, cpu_node *n, broadcast *b, error *err)
{
    const float zero = 0.0f;
    float y;
    b->rank = 1;
    b->rows = 1;
    for (int k = 0; k < b->n_in; k++)
        b->stride[0][k] = 1;
    b->loop(&y, (const void *const[]){&zero, &zero, &zero}, b->stride[0], 1);
    return node_follow(p, n, b->n_in, y == 0.0f, &b->dim[0], err);
}

status broadcast_plan(backend_program *p, cpu_node *n, broadcast_loop loop, error *err)
{
    broadcast *b = arena_alloc(p->arena, sizeof *b);
    b->loop = loop;
    b->n_in = n->node->n_in;
    BUG_ON(b->n_in > BROADCAST_IN);
    for (int k = 0; k < b->n_in; k++)
        b->in_bytes[k] = dtype_bytes(node_in(n, k)->dtype);
    b->out_bytes = dtype_bytes(node_out(n, 0)->dtype);
    n->body = run_broadcast;
    n->state = b;
    if (is_uniform(n))
        return plan_uniform(p, n, b, err);
    collapse(b, n);
    return OK;
}
