/*
 * The formulas of unary_math.def and binary_math.def as types with a function `of`: relu_at,
 * relu_bwd_at, add_at, max_bwd_at. In the CPU's words, so with its bits.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_FORMULAS_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_FORMULAS_CUH

#include "backend/binary_math.h"
#include "backend/cuda/kernels/device.cuh"
#include "backend/unary_math.h"

#define FORWARD(name, expression)                                                                  \
    struct name##_at {                                                                             \
        static constexpr bool BACKWARD = false;                                                    \
        static __device__ float of(float x, float, float p, float q)                               \
        {                                                                                          \
            (void)p, (void)q;                                                                      \
            return expression;                                                                     \
        }                                                                                          \
    };
#define BACKWARD(name, expression)                                                                 \
    struct name##_bwd_at {                                                                         \
        static constexpr bool BACKWARD = true;                                                     \
        static __device__ float of(float dy, float v, float p, float q)                            \
        {                                                                                          \
            (void)p, (void)q;                                                                      \
            return expression;                                                                     \
        }                                                                                          \
    };
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
