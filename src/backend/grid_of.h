/* The planes of a GridSample, from its shapes and attributes. Pure function. */
#ifndef TEQUIO_BACKEND_GRID_OF_H
#define TEQUIO_BACKEND_GRID_OF_H

#include "backend/grid.h"
#include "graph/attrs.h"

_Static_assert((int)GRID_AXES == (int)SPATIAL, "axes of a plane");

static inline grid_plane grid_of(const grid_attr *a, const graph_shape *x, const graph_shape *grid)
{
    grid_plane s = {.align_corners = a->align_corners || a->pixels,
                    .pixels = a->pixels,
                    .axes = x->rank - 2,
                    .per_position = 1};
    s.filter = a->mode == GRID_NEAREST  ? GRID_BY_ONE
               : a->mode == GRID_LINEAR ? GRID_BY_TWO
                                        : GRID_BY_FOUR;
    s.beyond = a->padding == GRID_ZEROS    ? GRID_IS_ZERO
               : a->padding == GRID_BORDER ? GRID_IS_EDGE
                                           : GRID_IS_MIRRORED;
    s.n = x->dim[0];
    s.channels = x->dim[1];
    s.elements = s.positions = 1;
    for (int d = s.axes - 1; d >= 0; d--) {
        s.size[d] = x->dim[2 + d];
        s.stride[d] = s.elements;
        s.elements *= x->dim[2 + d];
        s.positions *= grid->dim[1 + d];
        s.per_position *= (int)s.filter;
    }
    return s;
}

#endif
