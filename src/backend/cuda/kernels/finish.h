/* Images that are finished on the device (data/finish.h). */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_FINISH_H
#define TEQUIO_BACKEND_CUDA_KERNELS_FINISH_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

struct finish_form;
struct finish_draw;

/* y: n finished images, float32 or bytes as the form says; x: as they were read; draws[n]. None overlaps. */
void launch_finish(cuda_stream stream, const struct finish_form *f, void *y, const void *x,
                   const struct finish_draw *draws, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
