/*
 * Elementary functions in float for loops the compiler vectorises, and for kernels of a device:
 * pure, no branches, no calls, no libm, so bits depend on IEEE 754 alone. Errors are a few units in
 * the last place at most over the whole range, subnormal results are flushed to zero.
 *
 * vec_exp   x = k ln2 + r, polynomial in r, scaled by 2^k
 * vec_log   x = 2^k m with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m-1)/(m+1))
 * vec_expm1 like vec_exp, but without losing small x
 * vec_tanh, vec_sigmoid, vec_softplus   from those
 * vec_normal_cdf   a polynomial for erfcx(z) / t, t = 1 / (1 + z/2), fitted for z in [0, 10.5] to
 * 4e-8; keeps its relative accuracy in the left tail, where 1 + erf would cancel
 */
#ifndef TEQUIO_BACKEND_MATH_H
#define TEQUIO_BACKEND_MATH_H

#include "common/base/inline.h"

#include <stdint.h>

INLINE float vec_from_bits(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } both = {.u = u};
    return both.f;
}

INLINE uint32_t vec_to_bits(float f)
{
    union {
        float f;
        uint32_t u;
    } both = {.f = f};
    return both.u;
}

INLINE float vec_abs(float x)
{
    return vec_from_bits(vec_to_bits(x) & 0x7fffffffu);
}

INLINE float vec_with_sign(float magnitude, float sign)
{
    return vec_from_bits(vec_to_bits(magnitude) | (vec_to_bits(sign) & 0x80000000u));
}

/* Nearest integer to x / ln2 as a float and what is left of x, |r| <= ln2/2; |x| < 2^7. */
INLINE float vec_reduce_exp(float x, float *ret_k)
{
    const float shift = 0x1.8p23f; /* adding it rounds to an integer */
    float k = (x * 0x1.715476p+0f + shift) - shift;
    *ret_k = k;
    return (x - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
}

/* (e^r - 1 - r) / r^2 on |r| <= ln2/2: the Taylor series, its remainder is below 2^-27. */
INLINE float vec_exp_tail(float r)
{
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    return p * r + 0.5f;
}

INLINE float vec_pow2(float k) /* k an integer in [-126, 127] */
{
    return vec_from_bits((uint32_t)((int32_t)k + 127) << 23);
}

INLINE float vec_exp(float x)
{
    float in = x > 89.0f ? 89.0f : x;
    in = in < -87.0f ? -87.0f : in;
    float k;
    float r = vec_reduce_exp(in, &k);
    float beyond = k > 127.0f ? 1.0f : 0.0f; /* 2^128 is no float, 2 * 2^127 times less than 1 is */
    float y = (1.0f + (r + r * r * vec_exp_tail(r))) * vec_pow2(k - beyond) * (1.0f + beyond);
    y = x < -87.33654f ? 0.0f : y;
    return x != x ? x : y;
}

INLINE float vec_exp_below(float x) /* x <= 0: half the work */
{
    float in = x < -87.0f ? -87.0f : x;
    float k;
    float r = vec_reduce_exp(in, &k);
    float y = (1.0f + (r + r * r * vec_exp_tail(r))) * vec_pow2(k);
    return x < -87.33654f ? 0.0f : y;
}

INLINE float vec_expm1(float x)
{
    float in = x > 88.0f ? 88.0f : x;
    in = in < -30.0f ? -30.0f : in;
    float k;
    float r = vec_reduce_exp(in, &k);
    float tail = r + r * r * vec_exp_tail(r);
    float scale = vec_pow2(k);
    float y = scale * tail + (scale - 1.0f);
    return x != x ? x : y;
}

INLINE float vec_log(float x) /* x >= 0, subnormals count as 0 */
{
    uint32_t bits = vec_to_bits(x);
    /* bring m to [sqrt(1/2), sqrt(2)) by moving the cut between exponents */
    uint32_t shifted = bits + (0x3f800000u - 0x3f3504f3u);
    float k = (float)((int32_t)(shifted >> 23) - 127);
    float m = vec_from_bits((shifted & 0x007fffffu) + 0x3f3504f3u);
    float t = m - 1.0f;
    float s = t / (t + 2.0f), z = s * s;
    float p = 2.0f / 11.0f;
    p = p * z + 2.0f / 9.0f;
    p = p * z + 2.0f / 7.0f;
    p = p * z + 2.0f / 5.0f;
    p = p * z + 2.0f / 3.0f;
    /* 2s = t - s t, so the leading term keeps all its bits */
    float ln_m = t - s * (t - p * z);
    float y = k * 0x1.62e4p-1f + (ln_m + k * 0x1.7f7d1cp-20f);
    y = x < 0x1p-126f ? -__builtin_inff() : y;
    y = x > 0x1.fffffep127f ? x : y;
    return x != x || x < 0.0f ? __builtin_nanf("") : y;
}

INLINE float vec_log1p(float x) /* x >= 0 */
{
    float u = 1.0f + x;
    float y = vec_log(u) * (x / (u - 1.0f)); /* makes good what the sum lost of x */
    y = u == 1.0f ? x : y;
    return x > 0x1p30f ? vec_log(x) : y;
}

/* The nearest integer, the even one of two. */
INLINE float vec_round(float x)
{
    float a = vec_abs(x);
    float y = a < 0x1p23f ? (a + 0x1p23f) - 0x1p23f : a; /* from there on all are whole */
    return vec_with_sign(y, x);
}

INLINE float vec_floor(float x)
{
    float y = vec_round(x);
    return y > x ? y - 1.0f : y;
}

INLINE float vec_tanh(float x)
{
    float a = vec_abs(x);
    float e = vec_expm1(-2.0f * (a < 15.0f ? a : 15.0f));
    float y = vec_with_sign(-e / (e + 2.0f), x);
    return x != x ? x : y;
}

INLINE float vec_sigmoid(float x)
{
    float e = vec_exp_below(-vec_abs(x));
    float top = x >= 0.0f ? 1.0f : e;
    return top / (1.0f + e);
}

INLINE float vec_softplus(float x) /* ln(1 + e^x) */
{
    float y = vec_log1p(vec_exp(-vec_abs(x)));
    return x > 0.0f ? x + y : y;
}

/* The part of the normal distribution beyond |x|, and exp(-x^2 / 2). */
INLINE float vec_normal_tail(float x, float *ret_bell)
{
    float z = vec_abs(x) * 0x1.6a09e6p-1f; /* |x| / sqrt(2) */
    float t = 1.0f / (1.0f + 0.5f * z);
    float u = (t - 0.58f) * (1.0f / 0.42f);
    float p = -0x1.e0cb0ap-15f;
    p = p * u + 0x1.971dfep-16f;
    p = p * u + 0x1.41d242p-11f;
    p = p * u - 0x1.675fb4p-11f;
    p = p * u - 0x1.9e6d8ep-8f;
    p = p * u + 0x1.9d9d78p-8f;
    p = p * u + 0x1.a80538p-4f;
    p = p * u + 0x1.4f0a4cp-2f;
    p = p * u + 0x1.23898ap-1f;
    float bell = vec_exp_below(-0.5f * x * x);
    *ret_bell = bell;
    return 0.5f * t * p * bell;
}

INLINE float vec_normal_cdf(float x)
{
    float bell, tail = vec_normal_tail(x, &bell);
    return x > 0.0f ? 1.0f - tail : tail;
}

#endif
