/* What binary_test.c asks of walk.cuh: y = a - b by pieces of at most `most` elements, how many;
 * and n / by, for n < 2^31. */
#ifndef TEQUIO_TESTS_CUDA_EMU_KERNELS_WALK_SCENE_H
#define TEQUIO_TESTS_CUDA_EMU_KERNELS_WALK_SCENE_H

#include "backend/axes.h"
#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

int scene_subtract(cuda_stream stream, float *y, const float *a, const float *b, const axes *over,
                   int64_t most);
uint32_t scene_quotient(uint32_t by, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
