/* Against libm, which is good to about 1e-16. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/detmath.h"
#include "common/base/rng.h"

#include <float.h>
#include <math.h>

enum { CASES = 200000 };

/* `room` relative; below the smallest normal number one unit of the last place as well. */
static void assert_near(const char *what, double x, double got, double want, double room)
{
    if (got == want)
        return;
    if (!(fabs(got - want) <= room * fabs(want) + 0x1p-1073))
        fail_msg("%s at %.17g: %.17g, want %.17g", what, x, got, want);
}

/* In [0, 1) with all digits. */
static double random_unit(const rng *r, uint64_t i)
{
    uint32_t w[4];
    rng_block(r, i, w);
    return (double)((uint64_t)w[0] << 20 | w[1] >> 12) * 0x1p-52;
}

static void exp_is_exp(void **state)
{
    (void)state;
    rng r = rng_make(1, RNG_TEST, 1);
    for (uint64_t i = 0; i < CASES; i++) {
        double u = random_unit(&r, i);
        double x = i % 2 ? -746 + 1456 * u : ldexp(2 * u - 1, -(int)(i % 60));
        assert_near("exp", x, det_exp(x), exp(x), 1e-14);
    }
    assert_true(det_exp(0) == 1 && det_exp(-0.0) == 1);
    assert_true(det_exp(INFINITY) == INFINITY && det_exp(-INFINITY) == 0);
    assert_true(det_exp(710) == INFINITY && det_exp(1e308) == INFINITY && det_exp(-1e308) == 0);
    assert_true(isnan(det_exp(NAN)));
    const double edges[] = {709.782712893384, -708.4, -744.5, -745.13, -745.2, 0.34657359, 1e-300};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        assert_near("exp", edges[i], det_exp(edges[i]), exp(edges[i]), 1e-14);
}

static void log_is_log(void **state)
{
    (void)state;
    rng r = rng_make(1, RNG_TEST, 2);
    for (uint64_t i = 0; i < CASES; i++) {
        double u = random_unit(&r, i);
        double x =
            i % 2 ? ldexp(1 + u, (int)(i % 2097) - 1074) : 1 + ldexp(u - 0.5, -(int)(i % 50));
        assert_near("log", x, det_log(x), log(x), 1e-14);
    }
    const double edges[] = {DBL_MAX, DBL_MIN,   0x1p-1074,           0x1.fffffffffffffp-1023,
                            M_SQRT2, M_SQRT1_2, 1 - DBL_EPSILON / 2, 1 + DBL_EPSILON,
                            1};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        assert_near("log", edges[i], det_log(edges[i]), log(edges[i]), 1e-14);
    assert_true(det_log(0) == -INFINITY && det_log(INFINITY) == INFINITY);
    assert_true(isnan(det_log(-1)) && isnan(det_log(NAN)));
}

/* cos(pi x) by libm, with x first brought to [0, 1/2] exactly. */
static double cos_pi(double x)
{
    x = fmod(fabs(x), 2);
    if (x > 1)
        x = 2 - x;
    if (x == 0.5)
        return 0;
    /* near its zero cosine is a sine of the exact distance */
    return x > 0.25 && x < 0.75 ? sin(M_PI * (0.5 - x)) : cos(M_PI * x);
}

static void cos_pi_is_cos_pi(void **state)
{
    (void)state;
    rng r = rng_make(1, RNG_TEST, 3);
    for (uint64_t i = 0; i < CASES; i++) {
        double x = (2 * random_unit(&r, i) - 1) * ldexp(4, (int)(i % 60) - 8);
        assert_near("cos_pi", x, det_cos_pi(x), cos_pi(x), 1e-14);
    }
    for (int i = -1000; i <= 1000; i++) { /* whole and half turns are exact */
        assert_true(det_cos_pi(i) == (i % 2 ? -1 : 1));
        assert_true(det_cos_pi(i + 0.5) == 0);
    }
    assert_true(det_cos_pi(0x1p53) == 1 && det_cos_pi(DBL_MAX) == 1);
    assert_true(det_cos_pi(0x1p53 - 1) == -1 && det_cos_pi(0x1p-1074) == 1);
    assert_true(isnan(det_cos_pi(INFINITY)) && isnan(det_cos_pi(NAN)));
}

static void pow_is_pow(void **state)
{
    (void)state;
    rng r = rng_make(1, RNG_TEST, 4);
    for (uint64_t i = 0; i < CASES; i++) {
        double x = ldexp(1 + random_unit(&r, 2 * i), (int)(i % 40) - 20);
        double y = (2 * random_unit(&r, 2 * i + 1) - 1) * ldexp(1, (int)(i % 7));
        if (i % 2)
            y = rint(y);
        double growth = fmax(fabs(y), fabs(y * log(x)));
        assert_near("pow", x, det_pow(x, y), pow(x, y), 1e-14 + 0x1p-52 * growth);
    }
    const double betas[] = {0.9, 0.99, 0.999, 0.9999};
    for (int b = 0; b < 4; b++)
        for (int t = 1; t < 100000; t += 1 + t / 3) /* what bias corrections need */
            assert_near("1 - pow", t, 1 - det_pow(betas[b], t), 1 - pow(betas[b], t), 1e-11);
    assert_true(det_pow(0, 0) == 1 && det_pow(0, 2) == 0 && det_pow(0, 0.5) == 0);
    assert_true(det_pow(0, -1) == INFINITY && det_pow(0, -0.5) == INFINITY);
    assert_true(det_pow(1, NAN) == 1 && det_pow(NAN, 0) == 1);
    assert_true(isnan(det_pow(NAN, 2)) && isnan(det_pow(2, NAN)) && isnan(det_pow(0, NAN)));
    assert_true(det_pow(2, 1023) == 0x1p1023 && det_pow(2, 1024) == INFINITY);
    assert_true(det_pow(0.5, INFINITY) == 0 && det_pow(2, INFINITY) == INFINITY);
    assert_true(det_pow(2, -10) == 0x1p-10);
}

static void sqrt_is_exact(void **state)
{
    (void)state;
    rng r = rng_make(1, RNG_TEST, 5);
    for (uint64_t i = 0; i < CASES; i++) {
        double x = ldexp(1 + random_unit(&r, i), (int)(i % 2000) - 1000);
        assert_true(det_sqrt(x) == sqrt(x));
    }
    assert_true(isnan(det_sqrt(-1)) && det_sqrt(INFINITY) == INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_exp),       cmocka_unit_test(log_is_log),
        cmocka_unit_test(cos_pi_is_cos_pi), cmocka_unit_test(pow_is_pow),
        cmocka_unit_test(sqrt_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
