/* Trilu: rows of a matrix with one end cleared. */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "graph/axis_split.h"

#include <string.h>

enum { TRILU_GRAIN = 16384 }; /* elements */

typedef struct trilu_state {
    int64_t all, rows, cols; /* rows of all matrices, of one; columns */
    int64_t k;
    bool upper;
    size_t element; /* bytes */
} trilu_state;

typedef struct trilu_task {
    const trilu_state *s;
    char *y;
    const char *x;
} trilu_task;

static void trilu_rows(int64_t begin, int64_t end, void *arg)
{
    const trilu_task *t = arg;
    const trilu_state *s = t->s;
    size_t bytes = (size_t)s->cols * s->element;
    for (int64_t i = begin; i < end; i++) {
        int64_t edge = i % s->rows + s->k + !s->upper; /* where the other side begins */
        edge = edge < 0 ? 0 : edge > s->cols ? s->cols : edge;
        size_t cut = (size_t)edge * s->element;
        size_t from = s->upper ? cut : 0, to = s->upper ? bytes : cut;
        char *y = t->y + (size_t)i * bytes;
        if (t->y != t->x)
            memcpy(y + from, t->x + (size_t)i * bytes + from, to - from);
        memset(y, 0, from);
        memset(y + to, 0, bytes - to);
    }
}

static void run_trilu(const cpu_node *n, const cpu_call *c)
{
    const trilu_state *s = n->state;
    trilu_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(s->all, TRILU_GRAIN / (s->cols + 1) + 1, trilu_rows, &t);
}

status cpu_plan_trilu(cpu_node *n)
{
    const trilu_attr *a = n->node->attr;
    const graph_value *x = node_in(n, 0);
    trilu_state *s = node_runs(n, run_trilu, sizeof *s);
    axis_split at = axis_split_of(&x->shape, x->shape.rank - 2);
    s->rows = at.n;
    s->cols = at.inner;
    s->all = at.outer * at.n;
    s->k = a->k < -s->rows ? -s->rows : a->k > s->cols ? s->cols : a->k;
    s->upper = a->upper;
    s->element = dtype_bytes(x->dtype);
    return OK;
}
