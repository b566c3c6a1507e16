/*
 * Elementary functions computed in double and rounded once: exact to about half a unit in the last
 * place of a float, subnormals included, for loops the compiler vectorises. Pure; no branches,
 * calls, no libm; bits depend on IEEE 754 alone. For functions that are rare in a network, or whose
 * error would grow in float (pow); math.h has the quick ones.
 *
 * wide_exp   x = k ln2 + r, Taylor series in r, scaled by 2^k
 * wide_log   x = 2^k m with m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m-1)/(m+1))
 * wide_sin, wide_cos, wide_tan   x = k pi/2 + r with pi/2 in three parts; good while |x| < 2^20,
 *            beyond 2^30 any value of their range may come out
 * wide_atan  reduced to |t| <= tan(pi/12), Taylor series; asin and acos from it
 *
 * Arguments and results are values of float; functions over double are for use in here.
 */
#ifndef TEQUIO_BACKEND_WIDE_H
#define TEQUIO_BACKEND_WIDE_H

#include "common/base/inline.h"

#include <stdint.h>

INLINE double wide_from_bits(uint64_t u)
{
    union {
        uint64_t u;
        double d;
    } both = {.u = u};
    return both.d;
}

INLINE uint64_t wide_to_bits(double d)
{
    union {
        double d;
        uint64_t u;
    } both = {.d = d};
    return both.u;
}

INLINE double wide_abs(double x)
{
    return wide_from_bits(wide_to_bits(x) & 0x7fffffffffffffffu);
}

INLINE double wide_with_sign(double magnitude, double sign)
{
    return wide_from_bits(wide_to_bits(magnitude) | (wide_to_bits(sign) & 0x8000000000000000u));
}

/* Adding it rounds to an integer, which then stands in the low bits. */
#define WIDE_SHIFT 0x1.8p52

/* The nearest integer, for any value a float or its half can have. */
INLINE double wide_round_d(double x)
{
    double a = wide_abs(x);
    return wide_with_sign((a + 0x1p52) - 0x1p52, x);
}

INLINE double wide_exp_d(double x)
{
    double in = x > 200.0 ? 200.0 : x; /* beyond any float */
    in = in < -200.0 ? -200.0 : in;
    double shifted = in * 0x1.71547652b82fep+0 + WIDE_SHIFT;
    double k = shifted - WIDE_SHIFT;
    double r = (in - k * 0x1.62e42fefa39efp-1) - k * 0x1.abc9e3b39803fp-56;
    double p = 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    double y = p * wide_from_bits((wide_to_bits(shifted) + 1023) << 52);
    return x != x ? x : y;
}

INLINE double wide_log_d(double x) /* x = 0 or normal */
{
    uint64_t shifted = wide_to_bits(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    /* the exponent as a double without a conversion, which AVX2 lacks */
    double k = wide_from_bits((shifted >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double m = wide_from_bits((shifted & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu);
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    p = p * z + 2.0 / 3.0;
    double y = k * 0x1.62e42fefa39efp-1 + s * (2.0 + p * z);
    y = x == 0.0 ? -__builtin_inf() : y;
    y = x > 0x1.fffffffffffffp1023 ? x : y;
    return x != x || x < 0.0 ? __builtin_nan("") : y;
}

/* ln(1 + v); what 1 + v loses of v is made good by the quotient */
INLINE double wide_log1p_d(double v)
{
    double u = 1.0 + v;
    double y = wide_log_d(u) * (v / (u - 1.0));
    y = u == 1.0 ? v : y;
    return v > 0x1p60 ? wide_log_d(v) : y;
}

/* r of x = k pi/2 + r, |r| <= pi/4, and k modulo 4 */
INLINE double wide_reduce_pi(double x, uint64_t *ret_quadrant)
{
    double shifted = x * 0x1.45f306dc9c883p-1 + WIDE_SHIFT;
    double k = shifted - WIDE_SHIFT;
    *ret_quadrant = wide_to_bits(shifted) & 3;
    double r = ((x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a6p-34) - k * 0x1.3198a2e037073p-69;
    r = r > 0.79 ? 0.79 : r; /* only where x is too large to tell */
    return r < -0.79 ? -0.79 : r;
}

INLINE double wide_sin_of(double r)
{
    double z = r * r, p = -1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r * (1.0 + z * p);
}

INLINE double wide_cos_of(double r)
{
    double z = r * r, p = 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    p = p * z - 0.5;
    return 1.0 + z * p;
}

/* The sine a quarter turn times `turn` further on. */
INLINE double wide_sin_turned(double x, uint64_t turn)
{
    uint64_t quadrant;
    double r = wide_reduce_pi(x, &quadrant);
    quadrant += turn;
    double y = quadrant & 1 ? wide_cos_of(r) : wide_sin_of(r);
    return quadrant & 2 ? -y : y;
}

INLINE double wide_atan_d(double x)
{
    double a = wide_abs(x);
    double t = a > 1.0 ? 1.0 / a : a;
    double u =
        t > 0x1.126145e9ecd56p-2 ? (t * 0x1.bb67ae8584caap0 - 1.0) / (t + 0x1.bb67ae8584caap0) : t;
    double z = u * u, p = 1.0 / 17.0;
    p = p * z - 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z - 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z - 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z - 1.0 / 3.0;
    double y = u * (1.0 + z * p);
    y = t > 0x1.126145e9ecd56p-2 ? y + 0x1.0c152382d7366p-1 : y; /* pi / 6 */
    y = a > 1.0 ? 0x1.921fb54442d18p0 - y : y;                   /* pi / 2 */
    return wide_with_sign(y, x);
}

INLINE float wide_sin(float x)
{
    return (float)wide_sin_turned((double)x, 0);
}

INLINE float wide_cos(float x)
{
    return (float)wide_sin_turned((double)x, 1);
}

INLINE float wide_tan(float x)
{
    uint64_t quadrant;
    double r = wide_reduce_pi((double)x, &quadrant);
    double s = wide_sin_of(r), c = wide_cos_of(r);
    return (float)(quadrant & 1 ? -c / s : s / c);
}

INLINE float wide_asin(float x)
{
    double v = (double)x;
    return (float)wide_atan_d(v / __builtin_sqrt((1.0 - v) * (1.0 + v)));
}

INLINE float wide_acos(float x)
{
    double v = (double)x;
    double y = wide_atan_d(__builtin_sqrt((1.0 - v) * (1.0 + v)) / v);
    y = v < 0.0 ? y + 0x1.921fb54442d18p1 : y;
    return (float)(v == 0.0 ? 0x1.921fb54442d18p0 : y);
}

INLINE float wide_atan(float x)
{
    return (float)wide_atan_d((double)x);
}

INLINE float wide_sinh(float x)
{
    double v = (double)x, e = wide_exp_d(v), z = v * v;
    double p = 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z + 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z + 1.0 / 6.0;
    return (float)(wide_abs(v) < 0.5 ? v * (1.0 + z * p) : 0.5 * (e - 1.0 / e));
}

INLINE float wide_cosh(float x)
{
    double e = wide_exp_d((double)x);
    return (float)(0.5 * (e + 1.0 / e));
}

INLINE float wide_asinh(float x)
{
    double a = wide_abs((double)x), z = a * a;
    double y = wide_log1p_d(a + z / (1.0 + __builtin_sqrt(z + 1.0)));
    y = z > 0x1.fffffffffffffp1023 ? z : y;
    return (float)wide_with_sign(y, (double)x);
}

INLINE float wide_acosh(float x)
{
    double v = (double)x - 1.0;
    return (float)wide_log1p_d(v + __builtin_sqrt(v * (v + 2.0)));
}

INLINE float wide_atanh(float x)
{
    double a = wide_abs((double)x);
    return (float)wide_with_sign(0.5 * wide_log1p_d(2.0 * a / (1.0 - a)), (double)x);
}

/* The Maclaurin series below 1, from the tail of the normal distribution above. */
INLINE float wide_erf(float x, float upper_tail)
{
    double v = (double)x, z = v * v, p = 1.0 / 11975040000.0;
    p = p * z - 1.0 / 918086400.0;
    p = p * z + 1.0 / 76204800.0;
    p = p * z - 1.0 / 6894720.0;
    p = p * z + 1.0 / 685440.0;
    p = p * z - 1.0 / 75600.0;
    p = p * z + 1.0 / 9360.0;
    p = p * z - 1.0 / 1320.0;
    p = p * z + 1.0 / 216.0;
    p = p * z - 1.0 / 42.0;
    p = p * z + 1.0 / 10.0;
    p = p * z - 1.0 / 3.0;
    double inner = 0x1.20dd750429b6dp0 * v * (1.0 + z * p);
    double outer = wide_with_sign(1.0 - 2.0 * (double)upper_tail, v);
    return (float)(wide_abs(v) < 1.0 ? inner : outer);
}

/* C's powf, but for the sign of zeros. */
INLINE float wide_pow(float x, float y)
{
    double base = wide_abs((double)x), power = (double)y, half = 0.5 * power;
    double whole = wide_round_d(power), half_whole = wide_round_d(half);
    double exponent = power * wide_log_d(base);
    exponent = base == 1.0 ? 0.0 : exponent;
    double z = wide_exp_d(exponent);
    double turned = half_whole == half ? z : -z;          /* an odd power */
    double broken = base == (double)__builtin_inff() ? z : __builtin_nan("");
    turned = whole == power ? turned : broken;
    z = x < 0.0f ? turned : z;
    return (float)(power == 0.0 || x == 1.0f ? 1.0 : z);
}

#endif
