/* GridSample. Grids are [n, positions, axes]. */
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
void launch_grid_sample_gradient(cuda_stream stream, const grid_plane *s, float *dgrid,
                                 const float *dy, const float *x, const float *grid);

/* The gradient of x, so many images at once: what positions add to it is sorted by element, and
 * each element takes what is its own. All of dx is written. `workspace` has
 * launch_grid_sample_workspace_bytes bytes. Of the images at once the elements of a plane and what
 * positions add to them are counted in 32 bits. */
size_t launch_grid_sample_workspace_bytes(const grid_plane *s, int64_t at_once);
void launch_grid_sample_spread(cuda_stream stream, const grid_plane *s, int64_t at_once, float *dx,
                               const float *dy, const float *grid, void *workspace);

#ifdef __cplusplus
}
#endif

#endif
