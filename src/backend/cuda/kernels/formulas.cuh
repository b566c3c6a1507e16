/*
 * The formulas of unary_math.def and binary_math.def as types with a function `of`: relu_at,
 * relu_bwd_at, add_at, max_bwd_at. In the CPU's words, so with its bits.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_FORMULAS_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_FORMULAS_CUH

#include "backend/binary_math.h"
#include "backend/cuda/kernels/device.cuh"
#include "backend/unary_math.h"

#define UNARY_FORMULA(name, is_backward, first, second, expression)                                \
    struct name {                                                                                  \
        static constexpr bool BACKWARD = is_backward;                                              \
        static __device__ float of(float first, float second, float p, float q)                    \
        {                                                                                          \
            (void)second, (void)p, (void)q;                                                        \
            return expression;                                                                     \
        }                                                                                          \
    };
#define FORWARD(name, expression)  UNARY_FORMULA(name##_at, false, x, unused, expression)
#define BACKWARD(name, expression) UNARY_FORMULA(name##_bwd_at, true, dy, v, expression)
#include "backend/unary_math.def"

#define FLOAT(name, expression)                                                                    \
    struct name##_at {                                                                             \
        static __device__ float of(float a, float b)                                               \
        {                                                                                          \
            (void)b;                                                                               \
            return expression;                                                                     \
        }                                                                                          \
    };
#define POWER(name, exponent, expression) FLOAT(name, expression)
#define CHOICE(name, expression)                                                                   \
    struct name##_at {                                                                             \
        static __device__ float of(float a, float b, float c)                                      \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
    };
#include "backend/binary_math.def"

#endif
