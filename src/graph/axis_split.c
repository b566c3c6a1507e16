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
