/*
 * Pad: the output row by row. Axes behind the last one that is padded are one run with it; where a
 * row comes from follows from a map of each axis, made when the graph is loaded.
 */
#include "backend/cpu/program.h"
#include "backend/cpu/team.h"
#include "backend/fill.h"
#include "graph/pad_form.h"

#include <string.h>

enum { PAD_GRAIN = 16384 }; /* elements */

typedef struct pad_state {
    pad_form f;
    int64_t *from[GRAPH_RANK]; /* by axis, pad_form_sources */
    int64_t rows;              /* of the last axis */
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
    const int64_t *from = s->from[s->f.rank - 1];
    size_t bytes = (size_t)s->f.run * s->element;
    for (int64_t i = begin; i < end; i++) {
        if (from[i] < 0)
            fill_run(y + (size_t)i * bytes, s->f.run, s->value, s->element);
        else
            memcpy(y + (size_t)i * bytes, x + (size_t)from[i] * s->element, bytes);
    }
}

static void pad_row(const pad_task *t, int64_t row)
{
    const pad_state *s = t->s;
    int last = s->f.rank - 1;
    int64_t at = 0, rest = row, length = s->f.dim[last] * s->f.run;
    char *y = t->y + (size_t)(row * length) * s->element;
    for (int i = last - 1; i >= 0 && at >= 0; i--) {
        int64_t from = s->from[i][rest % s->f.dim[i]];
        rest /= s->f.dim[i];
        at = from < 0 ? -1 : at + from;
    }
    if (at < 0) {
        fill_run(y, length, s->value, s->element);
        return;
    }
    const char *x = t->x + (size_t)at * s->element;
    pad_edge(s, y, x, 0, s->f.begin);
    if (s->f.end > s->f.begin)
        memcpy(y + (size_t)(s->f.begin * s->f.run) * s->element,
               x + (size_t)s->from[last][s->f.begin] * s->element,
               (size_t)((s->f.end - s->f.begin) * s->f.run) * s->element);
    pad_edge(s, y, x, s->f.end, s->f.dim[last]);
}

static void pad_rows(int64_t begin, int64_t end, void *arg)
{
    for (int64_t row = begin; row < end; row++)
        pad_row(arg, row);
}

static void run_pad(const cpu_node *n, const cpu_call *c)
{
    const pad_state *s = n->state;
    pad_task t = {.s = s, .y = c->out[0], .x = c->in[0]};
    team_for(s->rows, PAD_GRAIN / (s->f.dim[s->f.rank - 1] * s->f.run + 1) + 1, pad_rows, &t);
}

status cpu_plan_pad(cpu_node *n)
{
    const pad_attr *a = n->node->attr;
    const graph_value *y = node_out(n, 0);
    pad_form f = pad_form_of(a, &y->shape);
    pad_state *s = node_runs(n, f.rank == 0 ? node_copy_apart : run_pad, sizeof *s);
    s->f = f;
    s->rows = 1;
    for (int32_t i = 0; i < f.rank; i++) {
        s->from[i] = pad_form_sources(n->program->arena, &f, a, i);
        s->rows *= i < f.rank - 1 ? f.dim[i] : 1;
    }
    s->element = dtype_bytes(y->dtype);
    fill_value(y->dtype, a->value, s->value);
    return OK;
}
