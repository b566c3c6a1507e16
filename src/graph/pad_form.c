#include "graph/pad_form.h"

#include "graph/taps.h"

pad_form pad_form_of(const pad_attr *p, const graph_shape *y)
{
    pad_form f = {.rank = y->rank, .run = 1};
    const int64_t *behind = &p->pads[y->rank];
    while (f.rank > 0 && p->pads[f.rank - 1] == 0 && behind[f.rank - 1] == 0)
        f.run *= y->dim[--f.rank];
    int64_t step = f.run;
    for (int32_t i = f.rank - 1; i >= 0; i--) {
        f.dim[i] = y->dim[i];
        f.step[i] = step;
        step *= p->x.dim[i];
    }
    if (f.rank > 0) {
        int32_t last = f.rank - 1;
        f.begin = p->pads[last] > 0 ? p->pads[last] : 0;
        f.end = f.dim[last] - (behind[last] > 0 ? behind[last] : 0);
    }
    return f;
}

int64_t *pad_form_sources(arena *a, const pad_form *f, const pad_attr *p, int32_t axis)
{
    int64_t *from = arena_alloc(a, (size_t)f->dim[axis] * sizeof *from);
    for (int64_t i = 0; i < f->dim[axis]; i++) {
        int64_t at = taps_pad_source(p, axis, i);
        from[i] = at < 0 ? -1 : at * f->step[axis];
    }
    return from;
}
