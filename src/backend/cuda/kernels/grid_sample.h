/* GridSample. Grids are [n, places, axes]. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_GRID_SAMPLE_H
#define TEQUIO_BACKEND_CUDA_KERNELS_GRID_SAMPLE_H

#include "backend/cuda/kernels/launch.h"
#include "backend/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

void launch_grid_sample(cuda_stream stream, const grid_plane *s, float *y, const float *x,
                        const float *grid);

/* The gradient of the grid. */
void launch_grid_sample_slope(cuda_stream stream, const grid_plane *s, float *dgrid,
                              const float *dy, const float *x, const float *grid);

/* Adds to dx, which the caller has cleared. */
void launch_grid_sample_scatter(cuda_stream stream, const grid_plane *s, float *dx, const float *dy,
                                const float *grid);

#ifdef __cplusplus
}
#endif

#endif
