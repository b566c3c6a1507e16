/* Functions of one element and their gradients. */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_UNARY_H
#define TEQUIO_BACKEND_CUDA_KERNELS_UNARY_H

#include "backend/cuda/kernels/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of unary_math.def: UNARY_relu, UNARY_relu_bwd, ... */
typedef enum unary_function {
#define FORWARD(name, expression)  UNARY_##name,
#define BACKWARD(name, expression) UNARY_##name##_bwd,
#include "backend/unary_math.def"
} unary_function;

/* y[n] = f(a[n], b[n]): a is x, or dy, and b v, which only gradients have. p and q are f's attributes.
 * All aligned to 16 bytes; y may be a or b. */
void launch_unary(cuda_stream stream, unary_function f, launch_types t, void *y, const void *a,
                  const void *b, int64_t n, float p, float q);

#ifdef __cplusplus
}
#endif

#endif
