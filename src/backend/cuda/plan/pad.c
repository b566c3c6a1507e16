/*
 * Pad. Axes behind the last one that is padded are one run with it; where a position of any other
 * comes from is a table.
 */
#include "backend/cuda/kernels/pad.h"
#include "backend/cuda/plan/plan.h"
#include "backend/fill.h"
#include "common/base/alloc.h"
#include "graph/pad_form.h"

#include <string.h>

enum { WIDEST = 16 }; /* bytes */

static void run_pad(const cuda_node *n, const cuda_call *c)
{
    launch_pad(c->stream, n->state, c->out[0], c->in[0]);
}

/* Pairs of elements become one of twice the size, as long as runs do. */
static void widen(launch_pad_call *s)
{
    for (; s->element < WIDEST && s->run % 2 == 0; s->run /= 2) {
        memcpy(s->value + s->element, s->value, s->element);
        s->element *= 2;
    }
}

/* Where the positions of an axis come from, in pieces of `width` elements. */
static status add_axis(cuda_node *n, launch_pad_call *s, const pad_form *f, int32_t axis,
                       int64_t width)
{
    int64_t *from = pad_form_sources(n->program->arena, f, n->node->attr, axis);
    const void *table;
    for (int64_t i = 0; i < f->dim[axis]; i++)
        from[i] = from[i] < 0 ? -1 : from[i] / width;
    TRY(cuda_table(n->program, from, (size_t)f->dim[axis] * sizeof *from, &table, n->err));
    s->dim[axis] = f->dim[axis];
    s->sources[axis] = table;
    return OK;
}

status cuda_plan_pad(cuda_node *n)
{
    const pad_attr *a = n->node->attr;
    const graph_value *y = cuda_out(n, 0);
    pad_form f = pad_form_of(a, &y->shape);
    if (f.rank == 0)
        return cuda_plan_copy(n);
    launch_pad_call *s = cuda_node_runs(n, run_pad, sizeof *s);
    s->element = dtype_bytes(cuda_out_storage(n, 0).type);
    s->rank = f.rank;
    s->run = f.run;
    if (s->element == dtype_bytes(y->dtype)) /* otherwise it is 0 */
        fill_value(y->dtype, a->value, s->value);
    widen(s);
    int64_t slab = s->run;
    for (int32_t i = f.rank - 1; i > 0; i--)
        slab *= f.dim[i];
    if (slab > INT32_MAX)
        return FAIL(n->err, E_UNSUPPORTED, "padding of more than 2^31 elements of one example");
    for (int32_t i = 0; i < f.rank; i++)
        TRY(add_axis(n, s, &f, i, f.run / s->run));
    return OK;
}
