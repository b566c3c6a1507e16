/*
 * What the formulas of binary_math.def are made of, and a float's way to a whole number. The CPU's
 * loops and the kernels of a device compute with the same text, so they make the same bits. Whole
 * numbers wrap around; what is divided by zero gives zero, for a batch that brings a zero must not
 * end the process. Pure functions.
 */
#ifndef TEQUIO_BACKEND_BINARY_MATH_H
#define TEQUIO_BACKEND_BINARY_MATH_H

#include "backend/math.h"
#include "backend/wide.h"

/* In 64 bits, and without a sign where it could overflow; what is narrower takes the low bits. */
INLINE int64_t whole_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

INLINE int64_t whole_difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

INLINE int64_t whole_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Rounded towards zero. */
INLINE int64_t whole_quotient(int64_t a, int64_t b)
{
    if (b == -1)
        return whole_difference(0, a);
    return b == 0 ? 0 : a / b;
}

/* With the sign of a, as C has it. */
INLINE int64_t whole_rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

/* With the sign of b, as Python has it. */
INLINE int64_t whole_modulo(int64_t a, int64_t b)
{
    int64_t r = whole_rest(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Towards zero, to the nearest there is if a is too large, to 0 if it is no number. `low` and
 * `high` are floats; the cast of `high` would be one too many. */
INLINE int64_t whole_of(float a, float low, float high, int64_t most)
{
    if (a != a)
        return 0;
    return a >= high ? most : (int64_t)(a < low ? low : a);
}

/* C's fmod: a quotient below 2^29 leaves an exact rest; a larger one is taken off in parts. */
INLINE float float_rest(float a, float b)
{
    double r = wide_abs((double)a), by = wide_abs((double)b);
    if (!(by > 0.0) || !(r < __builtin_inf()))
        return __builtin_nanf("");
    while (r >= by) {
        double part = by;
        while (r / part >= 0x1p29)
            part *= 0x1p29;
        r -= (double)(int64_t)(r / part) * part;
        r = r < 0.0 ? r + part : r;
    }
    return (float)wide_with_sign(r, (double)a);
}

/* ln(1 + e^x) - t x, without e^x of anything positive */
INLINE float cross_entropy(float x, float t)
{
    float positive = x > 0.0f ? x : 0.0f;
    return (positive - x * t) + vec_log1p(vec_exp(-vec_abs(x)));
}

#endif
