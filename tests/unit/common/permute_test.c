/* The order of an epoch: a bijection for every n, another one for every seed and epoch, fixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/parts/permute.h"

#include <stdlib.h>
#include <string.h>

static void expect_bijection(uint64_t seed, int64_t epoch, int64_t n)
{
    bool *seen = xcalloc((size_t)n, sizeof *seen);
    for (int64_t place = 0; place < n; place++) {
        int64_t example = permute_place(seed, epoch, n, place);
        assert_in_range(example, 0, n - 1);
        if (seen[example])
            fail_msg("n=%lld: example %lld comes twice", (long long)n, (long long)example);
        seen[example] = true;
    }
    free(seen);
}

static void test_is_a_bijection(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 300; n++)
        expect_bijection((uint64_t)n, n % 5, n);
    rng r = rng_make(3, RNG_TEST, 0);
    for (uint64_t i = 0; i < 40; i++)
        expect_bijection(rng_u32(&r, i), (int64_t)i, 1 + (int64_t)rng_below(&r, 100 + i, 40000));
    for (int bits = 1; bits <= 16; bits++)
        for (int64_t d = -1; d <= 1; d++)
            expect_bijection(9, 0, ((int64_t)1 << bits) + d);
}

static void test_large_n_stays_inside(void **state)
{
    (void)state;
    const int64_t n = ((int64_t)1 << 61) + 12345;
    for (int64_t i = 0; i < 1000; i++)
        assert_in_range(permute_place(1, 0, n, n - 1 - i), 0, n - 1);
}

/* Of two random orders of n examples about one place agrees. */
static int64_t agreements(uint64_t seed_a, int64_t epoch_a, uint64_t seed_b, int64_t epoch_b)
{
    int64_t same = 0;
    for (int64_t i = 0; i < 5000; i++)
        same += permute_place(seed_a, epoch_a, 5000, i) == permute_place(seed_b, epoch_b, 5000, i);
    return same;
}

static void test_differs_by_seed_and_epoch(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 20; i++) {
        assert_in_range(agreements(1, i, 1, i + 1), 0, 12);
        assert_in_range(agreements((uint64_t)i, 3, (uint64_t)i + 1, 3), 0, 12);
    }
}

/* Batches of the first 640 places draw evenly from eight strata of the examples. */
static void test_spreads_evenly(void **state)
{
    (void)state;
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        int counts[8] = {0};
        for (int64_t i = 0; i < 640; i++)
            counts[permute_place(5, epoch, 60000, i) / 7500]++;
        for (int k = 0; k < 8; k++)
            assert_in_range(counts[k], 40, 120); /* expected 80, deviation 8.4 */
    }
}

/* Part of every result: these never change. */
static void test_golden(void **state)
{
    (void)state;
    static const int64_t golden[2][6] = {{56198, 10648, 777, 57492, 31021, 33431},
                                         {73, 845, 28, 766, 291, 744}};
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(permute_place(13370, 0, 60000, i), golden[0][i]);
        assert_int_equal(permute_place(7, 12, 1000, 994 + i), golden[1][i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_a_bijection),
        cmocka_unit_test(test_large_n_stays_inside),
        cmocka_unit_test(test_differs_by_seed_and_epoch),
        cmocka_unit_test(test_spreads_evenly),
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
