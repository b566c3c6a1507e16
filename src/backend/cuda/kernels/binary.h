/*
 * Functions of two operands, element by element. Axes: y in its order, operand 0 is a, operand 1 b; y
 * may be a where a has its shape.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_BINARY_H
#define TEQUIO_BACKEND_CUDA_KERNELS_BINARY_H

#include "backend/axes.h"
#include "backend/cuda/kernels/launch.h"
#include "common/base/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of binary_math.def: BINARY_add, WHOLE_add, COMPARE_equal, QUESTION_is_nan, ... */
typedef enum binary_function {
#define FLOAT(name, expression)           BINARY_##name,
#define POWER(name, exponent, expression) BINARY_##name,
#include "backend/binary_math.def"
} binary_function;

typedef enum whole_function {
#define WHOLE(name, expression) WHOLE_##name,
#include "backend/binary_math.def"
} whole_function;

typedef enum compare_function {
#define COMPARISON(name, expression) COMPARE_##name,
#define LOGIC(name, expression)      COMPARE_##name,
#include "backend/binary_math.def"
} compare_function;

typedef enum question_function {
#define QUESTION(name, type, expression) QUESTION_##name,
#include "backend/binary_math.def"
} question_function;

void launch_binary(cuda_stream stream, binary_function f, launch_types t, void *y, const void *a,
                   const void *b, const axes *over);

/* Of int64, int32 and bytes. */
void launch_whole(cuda_stream stream, whole_function f, dtype type, void *y, const void *a,
                  const void *b, const axes *over);

/* Of these and of floats, logic of bytes only. y: 0 and 1 */
void launch_compare(cuda_stream stream, compare_function f, dtype type, uint8_t *y, const void *a,
                    const void *b, const axes *over);

/* y[n] of x[n]: floats, bytes for QUESTION_not. */
void launch_question(cuda_stream stream, question_function f, uint8_t *y, const void *x, int64_t n);

#ifdef __cplusplus
}
#endif

#endif
