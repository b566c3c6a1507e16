/* Rounding of factors: every bfloat16 and its neighbours in float32, against the definition. */
#include "backend/cpu/factor.h"
#include "common/base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

enum { UPPER = 1 << 16, LOWER = sizeof lower / sizeof *lower };

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of the two bfloat16 around x the nearer, of two equally near the one with an even last bit. */
static uint32_t nearest(uint32_t upper, uint32_t rest)
{
    uint32_t half = 0x8000; /* GCC 14 gets one "or" of both cases wrong */
    return rest == half ? upper + (upper & 1) : upper + (rest > half);
}

static void check(uint32_t upper, uint32_t rest, uint16_t narrow, float wide)
{
    uint32_t wide_bits;
    memcpy(&wide_bits, &wide, sizeof wide_bits);
    if (isnan(from_bits(upper << 16 | rest))) {
        assert_true(isnan(wide));
        assert_true(isnan(half_to_float(narrow, true)));
        assert_int_equal(wide_bits & 0xffff, 0);
        return;
    }
    assert_int_equal(narrow, nearest(upper, rest) & 0xffff);
    assert_int_equal(wide_bits, nearest(upper, rest) << 16);
}

static void rounds_to_nearest(void **state)
{
    (void)state;
    static float x[UPPER], wide[UPPER];
    static uint16_t narrow[UPPER];
    for (int k = 0; k < LOWER; k++) {
        for (uint32_t i = 0; i < UPPER; i++)
            x[i] = from_bits(i << 16 | lower[k]);
        factor_round(narrow, x, UPPER, FACTOR_BF16);
        factor_round(wide, x, UPPER, FACTOR_ROUNDED);
        for (uint32_t i = 0; i < UPPER; i++)
            check(i, lower[k], narrow[i], wide[i]);
    }
}

static void only_bfloat16_is_a_rounded_form(void **state)
{
    (void)state;
    assert_int_equal(factor_form_of(DT_F32), FACTOR_FLOAT);
    assert_int_not_equal(factor_form_of(DT_BF16), FACTOR_FLOAT);
    assert_int_equal(factor_bytes(FACTOR_FLOAT), 4);
    assert_int_equal(factor_bytes(FACTOR_ROUNDED), 4);
    assert_int_equal(factor_bytes(FACTOR_BF16), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_nearest),
        cmocka_unit_test(only_bfloat16_is_a_rounded_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
