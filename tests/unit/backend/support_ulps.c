#include "unit/backend/support_ulps.h"

#include "common/base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

double ulps(float got, double want)
{
    float nearest = (float)want;
    double ulp = (double)nextafterf(fabsf(nearest), INFINITY) - (double)fabsf(nearest);
    return fabs((double)got - want) / ulp;
}

void sweep(float (*f)(float), double (*want)(double), float low, float high, double limit)
{
    rng r = rng_make(1, RNG_TEST, 0);
    double worst = 0.0;
    float at = 0.0f;
    for (uint64_t i = 0; i < 200000; i++) {
        float x = low + (high - low) * rng_uniform(&r, i);
        double e = ulps(f(x), want((double)x));
        if (!(e <= worst)) {
            worst = e;
            at = x;
        }
    }
    if (!(worst <= limit))
        fail_msg("%.2f ulp at %.9g, allowed are %.2f", worst, (double)at, limit);
}
