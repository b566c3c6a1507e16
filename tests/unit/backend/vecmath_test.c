/* The float functions against double ones, over the whole range. */
#include "backend/cpu/vecmath.h"

#include "common/base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

/* Error in units of the last place of the nearest float. */
static double ulps(float got, double want)
{
    float nearest = (float)want;
    double ulp = (double)nextafterf(fabsf(nearest), INFINITY) - (double)fabsf(nearest);
    return fabs((double)got - want) / ulp;
}

static void sweep(float (*f)(float), double (*want)(double), float low, float high, double limit)
{
    rng r = rng_make(1, RNG_TEST, 0);
    double worst = 0.0;
    float at = 0.0f;
    for (uint64_t i = 0; i < 200000; i++) {
        float x = low + (high - low) * rng_uniform(&r, i);
        double e = ulps(f(x), want((double)x));
        if (e > worst) {
            worst = e;
            at = x;
        }
    }
    if (worst > limit)
        fail_msg("%.2f ulp at %.9g, allowed are %.2f", worst, (double)at, limit);
}

static float f_exp(float x)
{
    return vec_exp(x);
}
static float f_expm1(float x)
{
    return vec_expm1(x);
}
static float f_log(float x)
{
    return vec_log(x);
}
static float f_tanh(float x)
{
    return vec_tanh(x);
}
static float f_sigmoid(float x)
{
    return vec_sigmoid(x);
}
static float f_cdf(float x)
{
    return vec_normal_cdf(x);
}
static double d_sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}
static double d_cdf(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

static void test_exp(void **state)
{
    (void)state;
    sweep(f_exp, exp, -87.0f, 88.7f, 2.0);
    sweep(f_exp, exp, -1.0f, 1.0f, 1.5);
    assert_true(vec_exp(0.0f) == 1.0f);
    assert_true(vec_exp(INFINITY) == INFINITY && vec_exp(89.0f) == INFINITY);
    assert_true(vec_exp(-INFINITY) == 0.0f && vec_exp(-104.0f) == 0.0f);
    assert_true(isnan(vec_exp(NAN)));
}

static void test_expm1(void **state)
{
    (void)state;
    sweep(f_expm1, expm1, -20.0f, 20.0f, 3.0);
    sweep(f_expm1, expm1, -1e-3f, 1e-3f, 2.0);
    assert_true(vec_expm1(0.0f) == 0.0f);
}

static void test_log(void **state)
{
    (void)state;
    sweep(f_log, log, 0.5f, 2.0f, 2.0);
    sweep(f_log, log, 1e-3f, 1e4f, 2.0);
    sweep(f_log, log, 1e4f, 1e38f, 2.0);
    assert_true(vec_log(1.0f) == 0.0f);
    assert_true(vec_log(0.0f) == -INFINITY);
    assert_true(vec_log(INFINITY) == INFINITY);
    assert_true(isnan(vec_log(-1.0f)) && isnan(vec_log(NAN)));
}

static void test_tanh_and_sigmoid(void **state)
{
    (void)state;
    sweep(f_tanh, tanh, -10.0f, 10.0f, 4.0);
    sweep(f_tanh, tanh, -1e-2f, 1e-2f, 3.0);
    sweep(f_sigmoid, d_sigmoid, -80.0f, 20.0f, 3.0);
    assert_true(vec_tanh(100.0f) == 1.0f && vec_tanh(-INFINITY) == -1.0f);
    assert_true(vec_sigmoid(INFINITY) == 1.0f && vec_sigmoid(-INFINITY) == 0.0f);
    assert_true(isnan(vec_tanh(NAN)) && isnan(vec_sigmoid(NAN)));
}

static void test_normal_cdf(void **state)
{
    (void)state;
    sweep(f_cdf, d_cdf, -3.0f, 8.0f, 16.0);
    sweep(f_cdf, d_cdf, -10.0f, -3.0f, 80.0); /* the square in the exponent is rounded */
    assert_true(vec_normal_cdf(40.0f) == 1.0f && vec_normal_cdf(-40.0f) == 0.0f);
    assert_true(isnan(vec_normal_cdf(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),        cmocka_unit_test(test_expm1),
        cmocka_unit_test(test_log),        cmocka_unit_test(test_tanh_and_sigmoid),
        cmocka_unit_test(test_normal_cdf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
