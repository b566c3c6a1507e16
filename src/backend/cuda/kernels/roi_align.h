/* RoiAlign. Planes of x lie one behind the other, regions are [regions, 4]. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_ROI_ALIGN_H
#define TEQUIO_BACKEND_CUDA_KERNELS_ROI_ALIGN_H

#include "backend/cuda/kernels/launch.h"
#include "backend/roi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `fault`: a region of an image that is none; it counts as one of the first. */
void launch_roi_align(cuda_stream stream, const roi_pool *s, float *y, const float *x,
                      const float *rois, const int64_t *images, launch_fault fault);

/* The gradient of x, all of which is written. */
void launch_roi_align_bwd(cuda_stream stream, const roi_pool *s, float *dx, const float *dy,
                          const float *x, const float *rois, const int64_t *images);

#ifdef __cplusplus
}
#endif

#endif
