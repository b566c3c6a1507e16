/* The arithmetic of LpPool and its gradient: sums and powers in double. Pure functions. */
#ifndef TEQUIO_BACKEND_LP_H
#define TEQUIO_BACKEND_LP_H

#include "backend/math.h"

INLINE double lp_power(double base, int64_t exponent)
{
    double ret = 1.0;
    for (int64_t i = 0; i < exponent; i++)
        ret *= base;
    return ret;
}

/* What an element adds to its window's sum. */
INLINE double lp_term(float x, int64_t p)
{
    return lp_power((double)vec_abs(x), p);
}

INLINE float lp_root(double sum, int64_t p)
{
    if (p == 1)
        return (float)sum;
    if (p == 2)
        return (float)__builtin_sqrt(sum);
    return vec_exp(vec_log((float)sum) / (float)p);
}

/* What window y, whose gradient is dy, adds to the gradient of its element x: dy sign(x)
 * (|x| / y)^(p-1); zeros have no gradient. */
INLINE float lp_gradient(float dy, float x, float y, int64_t p)
{
    if (x == 0.0f || y == 0.0f)
        return 0.0f;
    double part = lp_power((double)vec_abs(x) / (double)y, p - 1);
    return dy * vec_with_sign((float)part, x);
}

#endif
