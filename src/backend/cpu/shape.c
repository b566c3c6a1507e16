/*
 * Operators that only move elements: Identity, Flatten, Reshape, Transpose, Expand, Slice, Concat,
 * and Zero. Plain layouts; any element type. A strided copy walks its output in order and its input
 * with a stride per axis.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

#include <string.h>

enum { COPY_GRAIN = 16384 }; /* elements */

static status run_straighten(const cpu_node *n, const cpu_call *c, error *err)
{
    return node_reorder((shim_primitive *)(uintptr_t)n->state, c->in[0], c->out[0], err);
}

/* Identity goes along with its input's layout; the alias operators need row-major bytes and make
 * them themselves where they have to. */
status plan_copy(backend_program *p, cpu_node *n, error *err)
{
    const graph_value *x = node_in(n, 0);
    const shim_layout *own = p->layout[n->node->in[0]], *plain;
    n->body = node_copy_apart;
    if (n->node->op == OP_IDENTITY) {
        n->in[0].want = n->out[0].want = own;
        return OK;
    }
    n->aliases = x->dtype != DT_F32 || shim_layout_is_plain(own);
    if (n->aliases)
        return OK;
    shim_primitive *reorder;
    TRY(layout_plain(p, &x->shape, &plain, err));
    TRY(shim_reorder(p->shim, own, plain, &reorder, err));
    n->body = run_straighten;
    n->state = reorder;
    n->in[0].want = own;
    return OK;
}

typedef struct strided_state {
    int rank;
    int64_t dim[GRAPH_RANK], stride[GRAPH_RANK]; /* of the output; elements of the input */
    int64_t offset, rows;
    size_t element; /* bytes */
} strided_state;

typedef struct strided_task {
    const strided_state *s;
    char *y;
    const char *x;
} strided_task;

#define STRIDED_ROW(name, type)                                                                    \
    static void name(type *y, const type *x, int64_t stride, int64_t n)                            \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = x[i * stride];                                                                  \
    }

STRIDED_ROW(row_of_1, uint8_t)
STRIDED_ROW(row_of_4, uint32_t)
STRIDED_ROW(row_of_8, uint64_t)

static void copy_row(char *y, const char *x, int64_t stride, int64_t n, size_t element)
{
    if (stride == 1)
        memcpy(y, x, (size_t)n * element);
    else if (element == 4)
        row_of_4((uint32_t *)(void *)y, (const uint32_t *)(const void *)x, stride, n);
    else if (element == 8)
        row_of_8((uint64_t *)(void *)y, (const uint64_t *)(const void *)x, stride, n);
    else
        row_of_1((uint8_t *)y, (const uint8_t *)x, stride, n);
}

static void strided_rows(int64_t begin, int64_t end, void *arg)
{
    const strided_task *t = arg;
    const strided_state *s = t->s;
    int last = s->rank - 1;
    for (int64_t row = begin; row < end; row++) {
        int64_t at = s->offset, rest = row;
        for (int i = last - 1; i >= 0; i--) {
            at += rest % s->dim[i] * s->stride[i];
            rest /= s->dim[i];
        }
        copy_row(t->y + (size_t)(row * s->dim[last]) * s->element, t->x + (size_t)at * s->element,
                 s->stride[last], s->dim[last], s->element);
    }
}

static status run_strided(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const strided_state *s = n->state;
    strided_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(s->rows, COPY_GRAIN / (s->dim[s->rank - 1] + 1) + 1, strided_rows, &t);
    return OK;
}

/* Axes of size 1 go; neighbours that the input passes in one stride become one. */
static void add_axis(strided_state *s, int64_t dim, int64_t stride)
{
    if (dim == 1)
        return;
    int j = s->rank - 1;
    if (j >= 0 && s->stride[j] == stride * dim) {
        s->dim[j] *= dim;
        s->stride[j] = stride;
        return;
    }
    s->dim[s->rank] = dim;
    s->stride[s->rank++] = stride;
}

static void row_major(const graph_shape *x, int64_t *ret)
{
    int64_t stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        ret[i] = stride;
        stride *= x->dim[i];
    }
}

static void add_transposed(strided_state *s, const graph_shape *x, const int64_t *stride,
                           const transpose_attr *a)
{
    for (int i = 0; i < x->rank; i++) {
        int from = a->reverse ? x->rank - 1 - i : a->perm[i];
        add_axis(s, x->dim[from], stride[from]);
    }
}

static void add_expanded(strided_state *s, const graph_shape *x, const int64_t *stride,
                         const graph_shape *y)
{
    for (int i = 0; i < y->rank; i++) {
        int from = i - (y->rank - x->rank);
        add_axis(s, y->dim[i], from >= 0 && x->dim[from] > 1 ? stride[from] : 0);
    }
}

static void add_sliced(strided_state *s, const graph_shape *x, const int64_t *stride,
                       const graph_shape *y, const slice_attr *a)
{
    int axis = a->axis < 0 ? a->axis + x->rank : a->axis;
    int64_t begin = a->begin < 0 ? a->begin + x->dim[axis] : a->begin;
    s->offset = begin * stride[axis];
    for (int i = 0; i < y->rank; i++)
        add_axis(s, y->dim[i], stride[i]);
}

status plan_strided(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    const graph_value *x = node_in(n, 0);
    const graph_shape *y = &node_out(n, 0)->shape;
    strided_state *s = arena_alloc(p->arena, sizeof *s);
    int64_t stride[GRAPH_RANK] = {0};
    row_major(&x->shape, stride);
    s->element = dtype_bytes(x->dtype);
    if (n->node->op == OP_TRANSPOSE)
        add_transposed(s, &x->shape, stride, n->node->attr);
    else if (n->node->op == OP_EXPAND)
        add_expanded(s, &x->shape, stride, y);
    else
        add_sliced(s, &x->shape, stride, y, n->node->attr);
    if (s->rank == 0) {
        s->dim[0] = 1;
        s->stride[0] = 1;
        s->rank = 1;
    }
    s->rows = 1;
    for (int i = 0; i < s->rank - 1; i++)
        s->rows *= s->dim[i];
    n->body = run_strided;
    n->state = s;
    return OK;
}

typedef struct concat_state {
    int64_t outer;
    size_t *run_bytes, y_bytes; /* bytes per outer index */
} concat_state;

static status run_concat(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const concat_state *s = n->state;
    char *y = c->out[0];
    for (int k = 0; k < n->node->n_in; k++) {
        const char *x = c->in[k];
        for (int64_t o = 0; o < s->outer; o++)
            memcpy(y + (size_t)o * s->y_bytes, x + (size_t)o * s->run_bytes[k], s->run_bytes[k]);
        y += s->run_bytes[k];
    }
    return OK;
}

status plan_concat(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    const graph_value *y = node_out(n, 0);
    int axis = ((const axis_attr *)n->node->attr)->axis;
    axis = axis < 0 ? axis + y->shape.rank : axis;
    concat_state *s = arena_alloc(p->arena, sizeof *s);
    s->run_bytes = arena_alloc(p->arena, (size_t)n->node->n_in * sizeof *s->run_bytes);
    s->outer = 1;
    for (int i = 0; i < axis; i++)
        s->outer *= y->shape.dim[i];
    for (int k = 0; k < n->node->n_in; k++) {
        s->run_bytes[k] = dtype_bytes(y->dtype);
        for (int i = axis; i < y->shape.rank; i++)
            s->run_bytes[k] *= (size_t)node_in(n, k)->shape.dim[i];
        s->y_bytes += s->run_bytes[k];
    }
    n->body = run_concat;
    n->state = s;
    return OK;
}

static status run_zero(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    memset(c->out[0], 0, n->program->bytes[n->node->out[0]]);
    return OK;
}

status plan_zero(backend_program *p, cpu_node *n, error *err)
{
    (void)p;
    (void)err;
    n->body = run_zero;
    return OK;
}
