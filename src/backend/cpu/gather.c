/*
 * Gather and its gradient. x is [outer, size, inner], indices [picks], y [outer, picks, inner]; a
 * row is `inner` elements. Indices are checked and made plain row numbers first, in the workspace,
 * so loops over rows trust them.
 *
 * The gradient is cut into a grid of outer x ranges of rows x ranges of columns. Whoever has a cell
 * adds to it in the order of the picks, so an element's sum has one order whatever the grid is.
 */
#include "backend/cpu/lanes.h"
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "common/base/alloc.h"

#include <inttypes.h>
#include <string.h>

enum {
    PICK_GRAIN = 16384, /* elements */
    NARROWEST = 64,     /* columns of a cell: four cache lines */
};

typedef struct gather_state {
    int64_t outer, size, picks, inner;
    size_t element;         /* bytes */
    dtype index;            /* int64 or int32 */
    int64_t n_rows, n_cols; /* of the grid; backward */
} gather_state;

typedef struct gather_task {
    const gather_state *s;
    char *y;
    const char *x;
    float *dx;
    const float *dy;
    const int64_t *rows;
} gather_task;

static gather_state *make_state(backend_program *p, cpu_node *n, const graph_value *indices)
{
    const gather_attr *a = n->node->attr;
    gather_state *s = arena_alloc(p->arena, sizeof *s);
    *s = (gather_state){.outer = 1,
                        .size = a->x.dim[a->axis],
                        .picks = graph_shape_elements(&indices->shape),
                        .inner = 1,
                        .element = dtype_bytes(node_out(n, 0)->dtype),
                        .index = indices->dtype};
    for (int i = 0; i < a->axis; i++)
        s->outer *= a->x.dim[i];
    for (int i = a->axis + 1; i < a->x.rank; i++)
        s->inner *= a->x.dim[i];
    n->state = s;
    n->scratch_bytes = (size_t)s->picks * sizeof(int64_t);
    return s;
}

/* The rows the indices mean, 0 .. size-1. */
static status rows_of(const gather_state *s, const void *indices, int64_t *ret, error *err)
{
    for (int64_t i = 0; i < s->picks; i++) {
        int64_t at =
            s->index == DT_I64 ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
        ret[i] = at < 0 ? at + s->size : at;
        if (ret[i] < 0 || ret[i] >= s->size)
            return FAIL(err, E_DATA,
                        "index %" PRId64 " at position %" PRId64 " is outside %" PRId64
                        "..%" PRId64,
                        at, i, -s->size, s->size - 1);
    }
    return OK;
}

#define PICK_ELEMENTS(name, type)                                                                  \
    static void name(type *y, const type *x, const int64_t *rows, int64_t n)                       \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = x[rows[i]];                                                                     \
    }

PICK_ELEMENTS(pick_1, uint8_t)
PICK_ELEMENTS(pick_4, uint32_t)
PICK_ELEMENTS(pick_8, uint64_t)

/* n picks from the rows at x. */
static void pick_rows(const gather_state *s, char *y, const char *x, const int64_t *rows, int64_t n)
{
    size_t bytes = (size_t)s->inner * s->element;
    if (bytes == 4)
        pick_4((uint32_t *)(void *)y, (const uint32_t *)(const void *)x, rows, n);
    else if (bytes == 8)
        pick_8((uint64_t *)(void *)y, (const uint64_t *)(const void *)x, rows, n);
    else if (bytes == 1)
        pick_1((uint8_t *)y, (const uint8_t *)x, rows, n);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(y + (size_t)i * bytes, x + (size_t)rows[i] * bytes, bytes);
}

/* Picks begin .. end of all outer x picks. */
static void gather_span(int64_t begin, int64_t end, void *arg)
{
    const gather_task *t = arg;
    const gather_state *s = t->s;
    size_t bytes = (size_t)s->inner * s->element;
    while (begin < end) {
        int64_t o = begin / s->picks, pick = begin % s->picks;
        int64_t n = s->picks - pick < end - begin ? s->picks - pick : end - begin;
        pick_rows(s, t->y + (size_t)begin * bytes, t->x + (size_t)(o * s->size) * bytes,
                  t->rows + pick, n);
        begin += n;
    }
}

static status run_gather(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    int64_t *rows = c->scratch;
    TRY(rows_of(s, c->in[1], rows, err));
    gather_task t = {.s = s, .y = c->out[0], .x = c->in[0], .rows = rows};
    team_for(s->outer * s->picks, PICK_GRAIN / (s->inner + 1) + 1, gather_span, &t);
    return OK;
}

status plan_gather(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    make_state(p, n, node_in(n, 1));
    n->body = run_gather;
    return OK;
}

SIMD_CLONES
static void add_row(float *to, const float *from, int64_t n)
{
    SIMD_LOOP
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

static int64_t edge(int64_t n, int64_t pieces, int64_t i)
{
    return n / pieces * i + (i < n % pieces ? i : n % pieces);
}

static void add_cell(const gather_task *t, int64_t o, int64_t row, int64_t col)
{
    const gather_state *s = t->s;
    int64_t row_begin = edge(s->size, s->n_rows, row), row_end = edge(s->size, s->n_rows, row + 1);
    int64_t begin = edge(s->inner, s->n_cols, col),
            width = edge(s->inner, s->n_cols, col + 1) - begin;
    float *dx = t->dx + o * s->size * s->inner + begin;
    const float *dy = t->dy + o * s->picks * s->inner + begin;
    for (int64_t i = 0; i < s->picks; i++)
        if (t->rows[i] >= row_begin && t->rows[i] < row_end)
            add_row(dx + t->rows[i] * s->inner, dy + i * s->inner, width);
}

static void add_cells(int64_t begin, int64_t end, void *arg)
{
    const gather_task *t = arg;
    const gather_state *s = t->s;
    for (int64_t cell = begin; cell < end; cell++)
        add_cell(t, cell / s->n_cols / s->n_rows, cell / s->n_cols % s->n_rows, cell % s->n_cols);
}

static status run_gather_bwd(const cpu_node *n, const cpu_call *c, error *err)
{
    const gather_state *s = n->state;
    int64_t *rows = c->scratch;
    TRY(rows_of(s, c->in[1], rows, err));
    gather_task t = {.s = s, .dx = c->out[0], .dy = c->in[0], .rows = rows};
    if (!node_begin_sum(n, c))
        team_zero(t.dx, n->program->bytes[n->node->out[0]]);
    int64_t cells = s->n_rows * s->n_cols, work = s->picks * s->inner;
    team_for(s->outer * cells, cells * PICK_GRAIN / (work + 1) + 1, add_cells, &t);
    return OK;
}

/* Columns are dealt evenly, rows are not when some are picked more often: so columns first. */
status plan_gather_bwd(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    gather_state *s = make_state(p, n, node_in(n, 1));
    int64_t threads = p->backend->threads, missing = (threads + s->outer - 1) / s->outer;
    s->n_rows = s->n_cols = 1;
    if (s->picks * s->inner * s->outer > PICK_GRAIN) {
        int64_t widest = s->inner / NARROWEST + 1;
        s->n_cols = missing < widest ? missing : widest;
        missing = (missing + s->n_cols - 1) / s->n_cols;
        s->n_rows = missing < s->size ? missing : s->size;
    }
    n->body = run_gather_bwd;
    return OK;
}
