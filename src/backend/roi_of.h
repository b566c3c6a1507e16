/* A RoiAlign's planes and bins, from its shapes and attributes. Pure function. */
#ifndef TEQUIO_BACKEND_ROI_OF_H
#define TEQUIO_BACKEND_ROI_OF_H

#include "backend/roi.h"
#include "graph/attrs.h"

static inline roi_pool roi_of(const roi_attr *a, const graph_shape *x, const graph_shape *rois)
{
    return (roi_pool){.images = x->dim[0],
                      .channels = x->dim[1],
                      .height = x->dim[2],
                      .width = x->dim[3],
                      .regions = rois->dim[0],
                      .rows = a->rows,
                      .columns = a->columns,
                      .ratio = a->ratio,
                      .scale = a->scale,
                      .half_pixel = a->half_pixel,
                      .largest = a->largest};
}

#endif
