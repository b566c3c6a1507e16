/*
 * Pad: the output row by row. Axes behind the last one that is padded are one run with it; where a
 * row comes from follows from a map of each axis, made when the graph is loaded.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/fill.h"
#include "common/base/alloc.h"
#include "graph/taps.h"

#include <string.h>

enum { PAD_GRAIN = 16384 }; /* elements */

typedef struct pad_state {
    int rank;                  /* axes up to the last padded one */
    int64_t dim[GRAPH_RANK];   /* of the output */
    int64_t *from[GRAPH_RANK]; /* by position in the output: elements into the input, -1: filled */
    int64_t run;               /* elements behind those axes */
    int64_t rows, begin, end;  /* of the last axis, begin .. end come in one piece */
    size_t element;            /* bytes */
    uint8_t value[8];
} pad_state;

typedef struct pad_task {
    const pad_state *s;
    char *y;
    const char *x;
} pad_task;

/* Places begin .. end of a row, one by one. */
static void pad_edge(const pad_state *s, char *y, const char *x, int64_t begin, int64_t end)
{
    const int64_t *from = s->from[s->rank - 1];
    size_t bytes = (size_t)s->run * s->element;
    for (int64_t i = begin; i < end; i++) {
        if (from[i] < 0)
            fill_run(y + (size_t)i * bytes, s->run, s->value, s->element);
        else
            memcpy(y + (size_t)i * bytes, x + (size_t)from[i] * s->element, bytes);
    }
}

static void pad_row(const pad_task *t, int64_t row)
{
    const pad_state *s = t->s;
    int last = s->rank - 1;
    int64_t at = 0, rest = row, length = s->dim[last] * s->run;
    char *y = t->y + (size_t)(row * length) * s->element;
    for (int i = last - 1; i >= 0 && at >= 0; i--) {
        int64_t from = s->from[i][rest % s->dim[i]];
        rest /= s->dim[i];
        at = from < 0 ? -1 : at + from;
    }
    if (at < 0) {
        fill_run(y, length, s->value, s->element);
        return;
    }
    const char *x = t->x + (size_t)at * s->element;
    pad_edge(s, y, x, 0, s->begin);
    if (s->end > s->begin)
        memcpy(y + (size_t)(s->begin * s->run) * s->element,
               x + (size_t)s->from[last][s->begin] * s->element,
               (size_t)((s->end - s->begin) * s->run) * s->element);
    pad_edge(s, y, x, s->end, s->dim[last]);
}

static void pad_rows(int64_t begin, int64_t end, void *arg)
{
    for (int64_t row = begin; row < end; row++)
        pad_row(arg, row);
}

static status run_pad(const cpu_node *n, const cpu_call *c, error *err)
{
    (void)err;
    const pad_state *s = n->state;
    pad_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(s->rows, PAD_GRAIN / (s->dim[s->rank - 1] * s->run + 1) + 1, pad_rows, &t);
    return OK;
}

static int64_t *map_of(backend_program *p, const pad_attr *a, int32_t axis, int64_t n,
                       int64_t stride)
{
    int64_t *from = arena_alloc(p->arena, (size_t)n * sizeof *from);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = taps_pad_source(a, axis, i);
        from[i] = at < 0 ? -1 : at * stride;
    }
    return from;
}

status cpu_plan_pad(backend_program *p, cpu_node *n, error *err)
{
    (void)err;
    const pad_attr *a = n->node->attr;
    const graph_shape *x = &a->x, *y = &node_out(n, 0)->shape;
    pad_state *s = arena_alloc(p->arena, sizeof *s);
    int64_t stride = 1;
    int32_t last = y->rank - 1;
    while (last > 0 && a->pads[last] == 0 && a->pads[x->rank + last] == 0)
        stride *= x->dim[last--];
    s->run = stride;
    s->rows = 1;
    s->rank = last < 0 ? 1 : last + 1;
    s->dim[0] = 1;
    s->from[0] = arena_alloc(p->arena, sizeof **s->from);
    for (int32_t i = last; i >= 0; i--) {
        s->dim[i] = y->dim[i];
        s->from[i] = map_of(p, a, i, y->dim[i], stride);
        stride *= x->dim[i];
        s->rows *= i < last ? y->dim[i] : 1;
    }
    if (last >= 0) {
        int64_t begin = a->pads[last], end = a->pads[x->rank + last];
        s->begin = begin > 0 ? begin : 0;
        s->end = s->dim[last] - (end > 0 ? end : 0);
    }
    s->element = dtype_bytes(node_out(n, 0)->dtype);
    fill_value(node_out(n, 0)->dtype, a->value, s->value);
    n->body = run_pad;
    n->state = s;
    return OK;
}
