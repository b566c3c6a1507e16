/*
 * Functions whose results are stored as halves: the formulas of unary_math.def over the chip's own
 * exponential and reciprocal, with products and sums in one operation. Good to 2^-17 of the result, where a
 * half is rounded by 2^-12 of it at least; of NaN and infinities they make what math.h does. What is stored
 * as float32 keeps to math.h, and so has the CPU's bits.
 */
#ifndef TEQUIO_BACKEND_CUDA_KERNELS_HALF_MATH_CUH
#define TEQUIO_BACKEND_CUDA_KERNELS_HALF_MATH_CUH

#include "backend/cuda/kernels/formulas.cuh"

namespace half_math
{

#define PART static __device__ __forceinline__

PART float vec_exp(float x)
{
    return exp2_fast(x * 0x1.715476p+0f);
}
PART float vec_exp_below(float x)
{
    return vec_exp(x);
}
PART float vec_sigmoid(float x)
{
    float e = vec_exp(-vec_abs(x));
    return (x >= 0.0f ? 1.0f : e) * rcp_fast(1.0f + e);
}

/* A polynomial of its own for erfcx(z) / t, good to 2^-19. */
PART float vec_normal_tail(float x, float *ret_bell)
{
    float t = rcp_fast(fmaf(vec_abs(x), 0x1.6a09e6p-2f, 1.0f));
    float u = fmaf(t, 1.0f / 0.42f, -0.58f / 0.42f);
    float p = 0x1.f6992cp-12f;
    p = fmaf(p, u, -0x1.54f67cp-11f);
    p = fmaf(p, u, -0x1.97e90ep-8f);
    p = fmaf(p, u, 0x1.9ccb54p-8f);
    p = fmaf(p, u, 0x1.a7ec76p-4f);
    p = fmaf(p, u, 0x1.4f0a7ap-2f);
    p = fmaf(p, u, 0x1.2389a8p-1f);
    *ret_bell = vec_exp(-0.5f * x * x);
    return 0.5f * t * p * *ret_bell;
}
PART float vec_normal_cdf(float x)
{
    float bell, tail = vec_normal_tail(x, &bell);
    return x > 0.0f ? 1.0f - tail : tail;
}

#include "backend/unary_parts.def"

#define FORWARD(name, expression)  UNARY_FORMULA(name##_at, false, x, unused, expression)
#define BACKWARD(name, expression) UNARY_FORMULA(name##_bwd_at, true, dy, v, expression)
#include "backend/unary_math.def"

} // namespace half_math

/* A formula where its result is a half: those that are worth it have another. */
template <typename F> struct half_form {
    typedef F type;
    static constexpr bool IS_OTHER = false;
};
#define HALF_FORM(name)                                                                            \
    template <> struct half_form<name##_at> {                                                      \
        typedef half_math::name##_at type;                                                         \
        static constexpr bool IS_OTHER = true;                                                     \
    };
HALF_FORM(sigmoid)
HALF_FORM(gelu)
HALF_FORM(gelu_bwd)
HALF_FORM(gelu_by_tanh)
HALF_FORM(gelu_by_tanh_bwd)
HALF_FORM(swish)
HALF_FORM(swish_bwd)
HALF_FORM(mish)
HALF_FORM(mish_bwd)
HALF_FORM(softplus_bwd)
#undef HALF_FORM

/* The formula's result, which is stored as a half or not. */
template <typename F, typename... A>
static __device__ __forceinline__ float formula(bool is_half, A... a)
{
    if constexpr (half_form<F>::IS_OTHER)
        if (is_half)
            return half_form<F>::type::of(a...);
    return F::of(a...);
}

/* exp(x) of x <= 0, for scores of type T. */
template <typename T> static __device__ __forceinline__ float exp_below_as(float x)
{
    return sizeof(T) == sizeof(float) ? vec_exp_below(x) : half_math::vec_exp_below(x);
}

#endif
