/*
 * Functions of three operands. Axes: y in its order, operands a, b and c; y may be a where a has its
 * shape.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_TERNARY_H
#define TEQUIO_BACKEND_CUDA_KERNELS_TERNARY_H

#include "backend/axes.h"
#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum choice_function {
#define CHOICE(name, expression) CHOICE_##name,
#include "backend/binary_math.def"
} choice_function;

void launch_choice(cuda_stream stream, choice_function f, launch_types t, void *y, const void *a,
                   const void *b, const void *c, const axes *over);

/* y = a ? b : c, of elements of 1, 2, 4 or 8 bytes; y is none of them. */
void launch_where(cuda_stream stream, size_t element, void *y, const uint8_t *a, const void *b,
                  const void *c, const axes *over);

#ifdef __cplusplus
}
#endif

#endif
