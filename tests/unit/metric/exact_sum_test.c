/* Exact sums: against integers, against what rounding loses, in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "metric/exact_sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

static double sum_of(const double *x, size_t n)
{
    exact_sum s = {.added = 0};
    for (size_t i = 0; i < n; i++)
        exact_sum_add(&s, x[i]);
    return exact_sum_value(&s);
}

static void test_rounded_once(void **state)
{
    (void)state;
    static const double large = 9007199254740992.0; /* 2^53: 1 is half of its last place */
    const struct {
        double x[4], sum;
    } cases[] = {
        {{0.0, -0.0}, 0.0},
        {{1e300, 1.0, -1e300}, 1.0},
        {{DBL_MAX, DBL_MAX, -DBL_MAX}, DBL_MAX},
        {{DBL_MAX, DBL_MAX}, (double)INFINITY},
        {{large, 1.0}, large},
        {{large, 1.0, DBL_TRUE_MIN}, large + 2.0},
        {{-large, -1.0, -DBL_TRUE_MIN}, -large - 2.0},
        {{large, 1.0, -DBL_TRUE_MIN}, large},
        {{large + 2.0, 1.0}, large + 4.0},
        {{DBL_TRUE_MIN, DBL_TRUE_MIN, DBL_TRUE_MIN}, 3.0 * DBL_TRUE_MIN},
        {{DBL_MIN, -DBL_TRUE_MIN}, DBL_MIN - DBL_TRUE_MIN},
        {{1.0, -DBL_EPSILON / 2.0, -DBL_TRUE_MIN}, 1.0 - DBL_EPSILON / 2.0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_true(sum_of(cases[i].x, 4) == cases[i].sum);
}

/* Any exponent and sign, but the sums stay in range. */
static double any_double(const rng *r, uint64_t i)
{
    return ldexp((double)rng_normal(r, 2 * i), (int)rng_below(r, 2 * i + 1, 1900) - 950);
}

enum { TERMS = 2000, PARTS = 7 };

static void test_any_order_and_grouping(void **state)
{
    (void)state;
    const rng r = rng_make(3, RNG_TEST, 0), place = rng_make(3, RNG_TEST, 1);
    exact_sum whole = {.added = 0}, parts[PARTS] = {{.added = 0}};
    for (uint64_t i = 0; i < TERMS; i++) {
        exact_sum_add(&whole, any_double(&r, i));
        exact_sum_add(&parts[rng_below(&place, i, PARTS)], any_double(&r, TERMS - 1 - i));
    }
    for (int i = PARTS - 1; i > 0; i--)
        exact_sum_merge(&parts[i - 1], &parts[i]);
    exact_sum_normalize(&whole);
    assert_memory_equal(&whole, &parts[0], sizeof whole);
}

static void test_parts_add_up(void **state)
{
    (void)state;
    const rng r = rng_make(4, RNG_TEST, 0);
    exact_sum s = {.added = 0};
    double parts[EXACT_PARTS];
    for (uint64_t i = 0; i < TERMS; i++)
        exact_sum_add(&s, any_double(&r, i));
    size_t n = exact_sum_parts(&s, parts);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || fabs(parts[i]) < fabs(parts[i - 1]));
        exact_sum_add(&s, -parts[i]);
    }
    assert_true(n > 1 && n < EXACT_PARTS);
    assert_true(exact_sum_value(&s) == 0.0);
}

static void test_products_are_exact(void **state)
{
    (void)state;
    exact_sum s = {.added = 0};
    double x = 1.0 + DBL_EPSILON;
    exact_sum_add_product(&s, x, x); /* 1 + 2 eps + eps^2 */
    exact_sum_add(&s, -1.0);
    exact_sum_add(&s, -2.0 * DBL_EPSILON);
    assert_true(exact_sum_value(&s) == DBL_EPSILON * DBL_EPSILON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounded_once),
        cmocka_unit_test(test_any_order_and_grouping),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_products_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
