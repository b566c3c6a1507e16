#include "graph/axis_split.h"

axis_split axis_split_of(const graph_shape *s, int32_t axis)
{
    BUG_ON(axis < 0 || axis >= s->rank);
    axis_split at = {.outer = 1, .n = s->dim[axis], .inner = 1};
    for (int32_t i = 0; i < axis; i++)
        at.outer *= s->dim[i];
    for (int32_t i = axis + 1; i < s->rank; i++)
        at.inner *= s->dim[i];
    return at;
}

lrn_form lrn_form_of(const lrn_attr *a, const graph_shape *x)
{
    int64_t before = (a->size - 1) / 2;
    return (lrn_form){.x = axis_split_of(x, 1),
                      .before = before,
                      .behind = a->size - 1 - before,
                      .alpha = a->alpha / (float)a->size,
                      .beta = a->beta,
                      .bias = a->bias};
}

sequence_form sequence_form_of(const sequence_attr *a, const graph_shape *x)
{
    axis_split at = axis_split_of(x, 1);
    return (sequence_form){.steps = a->batch_first ? at.n : at.outer,
                           .examples = a->batch_first ? at.outer : at.n,
                           .run = at.inner,
                           .batch_first = a->batch_first};
}
