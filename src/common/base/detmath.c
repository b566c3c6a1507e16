#include "common/base/detmath.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

double det_sqrt(double x)
{
    return __builtin_sqrt(x);
}

/* x = k ln2 + r, |r| <= ln2/2; e^r by its Taylor series to r^13, whose remainder is below 2^-55. */
double det_exp(double x)
{
    if (x != x)
        return x;
    if (x > 709.782712893384)
        return INFINITY;
    if (x < -745.2)
        return 0.0;
    const double ln2_hi = 0x1.62e42fefa0000p-1, ln2_lo = 0x1.cf79abc9e3b39p-40;
    double scaled = x * 0x1.71547652b82fep+0;
    int64_t k = (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
    double r = (x - (double)k * ln2_hi) - (double)k * ln2_lo;
    double sum = 1.0;
    for (int i = 13; i >= 1; i--)
        sum = 1.0 + sum * r / (double)i;
    /* two factors, so that subnormal results do not overflow the exponent on the way */
    int64_t half = k / 2;
    return sum * from_bits((uint64_t)(half + 1023) << 52) *
           from_bits((uint64_t)(k - half + 1023) << 52);
}

/* x = 2^k m, m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m-1)/(m+1)) by its series. */
double det_log(double x)
{
    if (x != x || x < 0)
        return NAN;
    if (x == 0)
        return -INFINITY;
    if (x == INFINITY)
        return x;
    int64_t k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = to_bits(x);
    k += (int64_t)(bits >> 52) - 1023;
    double m = from_bits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        k++;
    }
    double s = (m - 1.0) / (m + 1.0), z = s * s, sum = 0.0;
    for (int i = 23; i >= 3; i -= 2)
        sum = (sum + 1.0 / (double)i) * z;
    double ln_m = 2.0 * s + 2.0 * s * sum;
    return (double)k * 0x1.62e42fefa0000p-1 + ((double)k * 0x1.cf79abc9e3b39p-40 + ln_m);
}

/* Taylor series of cos or sin on [-pi/4, pi/4]. */
static double cos_small(double t)
{
    double z = t * t, sum = 1.0;
    for (int i = 18; i >= 2; i -= 2)
        sum = 1.0 - sum * z / (double)(i * (i - 1));
    return sum;
}

static double sin_small(double t)
{
    double z = t * t, sum = 1.0;
    for (int i = 19; i >= 3; i -= 2)
        sum = 1.0 - sum * z / (double)(i * (i - 1));
    return t * sum;
}

double det_cos_pi(double x)
{
    if (x - x != 0.0)
        return NAN;
    x = x < 0 ? -x : x;
    if (x >= 0x1p53)
        return 1.0; /* an even integer: the spacing of doubles is at least 2 */
    x -= 2.0 * (double)(int64_t)(x * 0.5);      /* [0, 2) */
    int64_t quarter = (int64_t)(x * 2.0 + 0.5); /* nearest multiple of 1/2 */
    double t = (x - (double)quarter * 0.5) * 0x1.921fb54442d18p+1;
    switch (quarter % 4) {
    case 0:
        return cos_small(t);
    case 1:
        return -sin_small(t);
    case 2:
        return -cos_small(t);
    default:
        return sin_small(t);
    }
}

double det_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1.0;
    if (y > -0x1p53 && y < 0x1p53 && y == (double)(int64_t)y) {
        uint64_t n = (uint64_t)(y < 0 ? -y : y);
        double power = 1.0;
        for (double square = x; n; n >>= 1, square *= square)
            if (n & 1)
                power *= square;
        if (y > 0)
            return power;
        if (power < INFINITY)
            return 1.0 / power;
        /* beyond the range of `power` the result may still be a subnormal number */
    }
    if (x == 0 && y == y)
        return y > 0 ? 0.0 : INFINITY;
    return det_exp(y * det_log(x));
}
