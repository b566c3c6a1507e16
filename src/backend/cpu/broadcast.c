#include "backend/cpu/broadcast.h"

#include "backend/axes_of.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

enum { BROADCAST_GRAIN = 16384 }; /* elements */

typedef struct broadcast {
    broadcast_loop loop;
    int n_in;
    axes over; /* the last one is the row */
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
    const axes *over = &b->over;
    int last = over->rank - 1;
    int64_t at[BROADCAST_IN] = {0}, rest = row;
    for (int i = last - 1; i >= 0; i--) {
        int64_t coordinate = rest % over->dim[i];
        rest /= over->dim[i];
        for (int k = 0; k < b->n_in; k++)
            at[k] += coordinate * over->stride[i][k];
    }
    const void *x[BROADCAST_IN] = {NULL};
    for (int k = 0; k < b->n_in; k++)
        x[k] = t->x[k] + (size_t)(at[k] + begin * over->stride[last][k]) * b->in_bytes[k];
    b->loop(t->y + (size_t)(row * over->dim[last] + begin) * b->out_bytes, x, over->stride[last],
            end - begin);
}

static int64_t row_length(const broadcast *b)
{
    return b->over.dim[b->over.rank - 1];
}

static void run_rows(int64_t begin, int64_t end, void *arg)
{
    const broadcast_task *t = arg;
    for (int64_t row = begin; row < end; row++)
        run_row(t, row, 0, row_length(t->b));
}

static int64_t pieces_of(int64_t length)
{
    return (length + BROADCAST_GRAIN - 1) / BROADCAST_GRAIN;
}

/* Long rows fall into pieces. */
static void run_pieces(int64_t begin, int64_t end, void *arg)
{
    const broadcast_task *t = arg;
    int64_t length = row_length(t->b), pieces = pieces_of(length);
    for (int64_t i = begin; i < end; i++) {
        int64_t from = i % pieces * BROADCAST_GRAIN, to = from + BROADCAST_GRAIN;
        run_row(t, i / pieces, from, to < length ? to : length);
    }
}

static void run_broadcast(const cpu_node *n, const cpu_call *c)
{
    const broadcast *b = n->state;
    broadcast_task t = {.b = b, .y = c->out[0]};
    for (int k = 0; k < b->n_in; k++)
        t.x[k] = c->in[k];
    int64_t length = row_length(b);
    if (length > BROADCAST_GRAIN)
        team_for(b->rows * pieces_of(length), 1, run_pieces, &t);
    else
        team_for(b->rows, BROADCAST_GRAIN / (length + 1) + 1, run_rows, &t);
}

static void merge_axes(broadcast *b, const cpu_node *n)
{
    const graph_shape *x[BROADCAST_IN];
    for (int k = 0; k < b->n_in; k++)
        x[k] = &node_in(n, k)->shape;
    b->over = axes_of_broadcast(&node_out(n, 0)->shape, x, b->n_in);
    b->rows = 1;
    for (int i = 0; i < b->over.rank - 1; i++)
        b->rows *= b->over.dim[i];
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

static status plan_uniform(cpu_node *n, broadcast *b)
{
    const float zero = 0.0f;
    float y;
    axes_end(&b->over, b->n_in);
    b->rows = 1;
    b->loop(&y, (const void *const[]){&zero, &zero, &zero}, b->over.stride[0], 1);
    return node_follow(n->program, n, b->n_in, y == 0.0f, &b->over.dim[0], n->err);
}

status broadcast_plan(cpu_node *n, broadcast_loop loop)
{
    broadcast *b = node_runs(n, run_broadcast, sizeof *b);
    b->loop = loop;
    b->n_in = n->node->n_in;
    BUG_ON(b->n_in > BROADCAST_IN);
    for (int k = 0; k < b->n_in; k++)
        b->in_bytes[k] = dtype_bytes(node_in(n, k)->dtype);
    b->out_bytes = dtype_bytes(node_out(n, 0)->dtype);
    if (is_uniform(n))
        return plan_uniform(n, b);
    merge_axes(b, n);
    return OK;
}
