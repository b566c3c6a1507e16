/* The functions that are computed in double, against libm's, and where they end. */
#include "backend/wide.h"

#include "backend/math.h"
#include "unit/backend/support_ulps.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#define PLAIN(name)                                                                                \
    static float f_##name(float x)                                                                 \
    {                                                                                              \
        return wide_##name(x);                                                                     \
    }

PLAIN(sin)
PLAIN(cos)
PLAIN(tan)
PLAIN(asin)
PLAIN(acos)
PLAIN(atan)
PLAIN(sinh)
PLAIN(cosh)
PLAIN(asinh)
PLAIN(acosh)
PLAIN(atanh)

static float f_erf(float x)
{
    return wide_erf(x, vec_normal_cdf(-0x1.6a09e6p+0f * vec_abs(x)));
}

static float f_cube(float x)
{
    return wide_pow(x, 3.0f);
}

static double d_cube(double x)
{
    return x * x * x;
}

static float f_power_of_e(float x)
{
    return wide_pow(2.7182817f, x);
}

static double d_power_of_e(double x)
{
    return pow((double)2.7182817f, x);
}

static float f_odd_root(float x)
{
    return wide_pow(x, 0.37f);
}

static double d_odd_root(double x)
{
    return pow(x, (double)0.37f);
}

static const double NEAREST = 0.501; /* of one rounding to float */

static void test_trigonometry(void **state)
{
    (void)state;
    const float sides[] = {1e-20f, 1e-3f, 1.0f, 30.0f, 1e6f};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        sweep(f_sin, sin, -sides[i], sides[i], NEAREST);
        sweep(f_cos, cos, -sides[i], sides[i], NEAREST);
        sweep(f_tan, tan, -sides[i], sides[i], NEAREST);
        sweep(f_atan, atan, -sides[i], sides[i], NEAREST);
    }
    assert_true(isnan(wide_sin(INFINITY)) && isnan(wide_cos(NAN)) && isnan(wide_tan(-INFINITY)));
    assert_true(fabsf(wide_sin(1e30f)) <= 1.0f && fabsf(wide_cos(3e38f)) <= 1.0f);
    assert_true(wide_atan(INFINITY) == (float)M_PI_2 && isnan(wide_atan(NAN)));
    assert_true(signbit(wide_sin(-0.0f)) && signbit(wide_atan(-0.0f)));
}

static void test_inverse_trigonometry(void **state)
{
    (void)state;
    sweep(f_asin, asin, -1.0f, 1.0f, NEAREST);
    sweep(f_asin, asin, -1e-4f, 1e-4f, NEAREST);
    sweep(f_acos, acos, -1.0f, 1.0f, NEAREST);
    sweep(f_acos, acos, 0.9999f, 1.0f, NEAREST);
    assert_true(wide_asin(-1.0f) == -(float)M_PI_2 && wide_acos(1.0f) == 0.0f);
    assert_true(wide_acos(-1.0f) == (float)M_PI && wide_acos(0.0f) == (float)M_PI_2);
    assert_true(isnan(wide_asin(1.1f)) && isnan(wide_acos(-1.1f)) && isnan(wide_acos(NAN)));
}

static void test_hyperbolas(void **state)
{
    (void)state;
    const float sides[] = {1e-20f, 1e-3f, 1.0f, 88.0f};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        sweep(f_sinh, sinh, -sides[i], sides[i], NEAREST);
        sweep(f_cosh, cosh, -sides[i], sides[i], NEAREST);
        sweep(f_asinh, asinh, -sides[i], sides[i], NEAREST);
    }
    sweep(f_asinh, asinh, 1e20f, 3e38f, NEAREST);
    sweep(f_acosh, acosh, 1.0f, 2.0f, NEAREST);
    sweep(f_acosh, acosh, 1.0f, 3e38f, NEAREST);
    sweep(f_atanh, atanh, -1.0f, 1.0f, NEAREST);
    sweep(f_atanh, atanh, -1e-10f, 1e-10f, NEAREST);
    assert_true(wide_sinh(-INFINITY) == -INFINITY && wide_cosh(-INFINITY) == INFINITY);
    assert_true(wide_asinh(-INFINITY) == -INFINITY && wide_acosh(INFINITY) == INFINITY);
    assert_true(wide_acosh(1.0f) == 0.0f && isnan(wide_acosh(0.5f)));
    assert_true(wide_atanh(1.0f) == INFINITY && wide_atanh(-1.0f) == -INFINITY);
    assert_true(isnan(wide_atanh(2.0f)) && isnan(wide_sinh(NAN)) && isnan(wide_asinh(NAN)));
}

static void test_erf(void **state)
{
    (void)state;
    sweep(f_erf, erf, -1.0f, 1.0f, NEAREST);
    sweep(f_erf, erf, -1e-10f, 1e-10f, NEAREST);
    sweep(f_erf, erf, -6.0f, 6.0f, 4.0);
    assert_true(f_erf(INFINITY) == 1.0f && f_erf(-INFINITY) == -1.0f && isnan(f_erf(NAN)));
}

static void test_pow(void **state)
{
    (void)state;
    sweep(f_cube, d_cube, -1e12f, 1e12f, NEAREST);
    sweep(f_power_of_e, d_power_of_e, -80.0f, 80.0f, NEAREST);
    sweep(f_odd_root, d_odd_root, 0.0f, 3e38f, NEAREST);
    const float at[] = {0.0f, 0.5f, 1.0f, 2.0f, 3.0f, 0.5f, 16777215.0f, 1e20f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            for (int sign = 0; sign < 4; sign++) {
                float x = sign & 1 ? -at[i] : at[i], y = sign & 2 ? -at[k] : at[k];
                double want = pow((double)x, (double)y);
                float got = wide_pow(x, y);
                bool same = isnan(want)          ? isnan(got)
                            : isinf((float)want) ? (double)got == want || isinf(got)
                            : fabs(want) < 1e-37 ? fabs((double)got) < 1e-36
                                                 : ulps(got, want) <= NEAREST;
                /* C says pow(-1, +-inf) = 1 and pow(-inf, broken) is no NaN */
                if (!same && !(x == -1.0f && isinf(y)) && !isinf(x) && !(x == 0.0f))
                    fail_msg("pow(%g, %g) is %g, not %g", (double)x, (double)y, (double)got, want);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trigonometry), cmocka_unit_test(test_inverse_trigonometry),
        cmocka_unit_test(test_hyperbolas),   cmocka_unit_test(test_erf),
        cmocka_unit_test(test_pow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
