/*
 * What the formulas of unary_math.def are made of. The CPU's loops and the kernels of a device
 * compute with the same text, so they make the same bits. Pure functions.
 */
#ifndef TEQUIO_BACKEND_UNARY_MATH_H
#define TEQUIO_BACKEND_UNARY_MATH_H

#include "backend/math.h"
#include "backend/wide.h"

/* sqrt(2 / pi), and the cubic term of the tanh form */
#define GELU_SCALE 0x1.988454p-1f
#define GELU_CUBIC 0.044715f

INLINE float within(float x, float low, float high)
{
    float y = x < low ? low : x;
    return y > high ? high : y;
}

INLINE float gelu_tanh(float x)
{
    return x * vec_sigmoid(2.0f * GELU_SCALE * (x + GELU_CUBIC * x * x * x));
}

INLINE float gelu_tanh_gradient(float x)
{
    float in = within(x, -20.0f, 20.0f); /* flat beyond; keeps infinity times zero away */
    float s = vec_sigmoid(2.0f * GELU_SCALE * (in + GELU_CUBIC * in * in * in));
    float inner = 2.0f * GELU_SCALE * (1.0f + 3.0f * GELU_CUBIC * in * in);
    return s + in * s * (1.0f - s) * inner;
}

INLINE float gelu_erf_gradient(float x)
{
    float in = within(x, -20.0f, 20.0f);
    float bell, tail = vec_normal_tail(in, &bell);
    float cdf = in > 0.0f ? 1.0f - tail : tail;
    return cdf + in * 0x1.988454p-2f * bell; /* 1 / sqrt(2 pi) */
}

INLINE float swish_gradient(float x, float alpha)
{
    float in = within(x, -1e30f, 1e30f);
    float s = vec_sigmoid(alpha * in);
    return s + alpha * in * s * (1.0f - s);
}

/* tanh(softplus(x)): with e = exp(x), (1 + e)^2 - 1 over (1 + e)^2 + 1 */
INLINE float mish_gate(float x)
{
    float e = vec_exp(within(x, -87.0f, 20.0f)), n = e * (e + 2.0f);
    return n / (n + 2.0f);
}

INLINE float mish_gradient(float x)
{
    float t = mish_gate(x), in = within(x, -1e30f, 1e30f);
    return t + in * (1.0f - t * t) * vec_sigmoid(x);
}

INLINE float softsign_gradient(float x)
{
    float t = 1.0f + vec_abs(x);
    return 1.0f / (t * t);
}

INLINE float sign_of(float x)
{
    return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x);
}

#endif
