/*
 * The gradient of a product: of each factor the product of all others, which is all of them divided
 * by itself where that can be done. Zeros, infinities and what is no number are counted instead, so
 * that a factor's own is not in its gradient. Pure functions.
 */
#ifndef TEQUIO_BACKEND_PRODUCT_H
#define TEQUIO_BACKEND_PRODUCT_H

#include "common/base/inline.h"

#include <stdint.h>

typedef struct factors {
    double product; /* of those that can be divided out, and of the signs of infinities */
    int64_t zeros, infinities, no_numbers;
} factors;

INLINE int factors_is_infinite(double x)
{
    return x == (double)__builtin_inff() || x == -(double)__builtin_inff();
}

/* What x stands for in `product`. */
INLINE double factors_share(double x)
{
    if (x == 0.0 || x != x)
        return 1.0;
    return factors_is_infinite(x) ? (x < 0.0 ? -1.0 : 1.0) : x;
}

INLINE void factors_take(factors *f, double x)
{
    f->product *= factors_share(x);
    f->zeros += x == 0.0;
    f->infinities += factors_is_infinite(x);
    f->no_numbers += x != x;
}

/* The product of all that were taken but one x. */
INLINE double factors_but(const factors *f, double x)
{
    int64_t zeros = f->zeros - (x == 0.0), infinities = f->infinities - factors_is_infinite(x);
    double rest = f->product / factors_share(x);
    if (f->no_numbers > (x != x))
        return (double)__builtin_nanf("");
    if (infinities > 0)
        rest *= (double)__builtin_inff();
    return zeros > 0 ? rest * 0.0 : rest;
}

#endif
