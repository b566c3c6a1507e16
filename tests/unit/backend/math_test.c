/* The float functions against double ones, over the whole range. */
#include "backend/math.h"

#include "unit/backend/support_ulps.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

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
static float f_log1p(float x)
{
    return vec_log1p(x);
}
static float f_softplus(float x)
{
    return vec_softplus(x);
}
static double d_softplus(double x)
{
    return log1p(exp(x));
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

static void test_softplus(void **state)
{
    (void)state;
    sweep(f_log1p, log1p, 0.0f, 1e-3f, 3.0);
    sweep(f_log1p, log1p, 0.0f, 1.0f, 3.0);
    sweep(f_log1p, log1p, 0.0f, 1e38f, 2.0);
    sweep(f_softplus, d_softplus, -80.0f, 80.0f, 5.0);
    assert_true(vec_softplus(INFINITY) == INFINITY && vec_softplus(-INFINITY) == 0.0f);
    assert_true(isnan(vec_softplus(NAN)));
}

static void test_whole_numbers(void **state)
{
    (void)state;
    const float at[] = {0.0f,       0.3f,       0.5f,       0.7f,  1.0f,     1.5f,   2.5f,
                        1234567.5f, 8388607.5f, 8388608.0f, 3e38f, INFINITY, 1e-30f, 4194303.25f};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            float x = (float)sign * at[i];
            assert_true(vec_round(x) == nearbyintf(x));
            assert_true(vec_floor(x) == floorf(x));
            assert_true(-vec_floor(-x) == ceilf(x));
        }
    }
    assert_true(isnan(vec_round(NAN)) && isnan(vec_floor(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),           cmocka_unit_test(test_expm1),
        cmocka_unit_test(test_log),           cmocka_unit_test(test_tanh_and_sigmoid),
        cmocka_unit_test(test_normal_cdf),    cmocka_unit_test(test_softplus),
        cmocka_unit_test(test_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
