/*
 * Pad. Axes behind the last one that is padded are one run with it; where a position of any other
 * comes from is a table.
 */
#include "backend/cuda/kernels/pad.h"
#include "backend/cuda/plan/plan.h"
#include "backend/fill.h"
#include "common/base/alloc.h"
#include "graph/taps.h"

#include <string.h>

enum { WIDEST = 16 }; /* bytes */

static status run_pad(const cuda_node *n, const cuda_call *c, error *err)
{
    (void)err;
    launch_pad(c->stream, n->state, c->out[0], c->in[0]);
    return OK;
}

/* Pairs of elements become one of twice the size, as long as runs do. */
static void widen(launch_pad_call *s)
{
    for (; s->element < WIDEST && s->run % 2 == 0; s->run /= 2) {
        memcpy(s->value + s->element, s->value, s->element);
        s->element *= 2;
    }
}

/* Where the positions of an axis come from, in pieces; `stride` is that of its neighbours. */
static status add_axis(backend_program *p, launch_pad_call *s, const pad_attr *a, int32_t axis,
                       int64_t stride, error *err)
{
    int64_t n = s->dim[axis];
    int64_t *from = arena_alloc(p->arena, (size_t)n * sizeof *from);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = taps_pad_source(a, axis, i);
        from[i] = at < 0 ? -1 : at * stride;
    }
    const void *table;
    TRY(cuda_table(p, from, (size_t)n * sizeof *from, &table, err));
    s->sources[axis] = table;
    return OK;
}

status cuda_plan_pad(backend_program *p, cuda_node *n, error *err)
{
    const pad_attr *a = n->node->attr;
    const graph_shape *x = &a->x, *y = &cuda_out(n, 0)->shape;
    int32_t last = y->rank - 1;
    int64_t run = 1;
    while (last >= 0 && a->pads[last] == 0 && a->pads[x->rank + last] == 0)
        run *= x->dim[last--];
    if (last < 0)
        return cuda_plan_copy(p, n, err);
    launch_pad_call *s = arena_alloc(p->arena, sizeof *s);
    s->element = dtype_bytes(cuda_out_storage(n, 0).type);
    s->rank = last + 1;
    s->run = run;
    if (s->element == dtype_bytes(cuda_out(n, 0)->dtype)) /* otherwise it is 0 */
        fill_value(cuda_out(n, 0)->dtype, a->value, s->value);
    widen(s);
    int64_t stride = s->run, slab = s->run;
    for (int32_t i = last; i > 0; i--)
        slab *= y->dim[i];
    if (slab > INT32_MAX)
        return FAIL(err, E_UNSUPPORTED, "padding of more than 2^31 elements of one example");
    for (int32_t i = last; i >= 0; i--) {
        s->dim[i] = y->dim[i];
        TRY(add_axis(p, s, a, i, stride, err));
        stride *= x->dim[i];
    }
    n->body = run_pad;
    n->state = s;
    return OK;
}
