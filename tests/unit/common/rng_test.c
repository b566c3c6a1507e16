#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"

#include <math.h>
#include <string.h>

/* The vectors Random123 publishes for philox4x32-10. */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    const struct {
        uint32_t counter[4], key[2], want[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *c = cases[i].counter;
        rng r = {.key = {cases[i].key[0], cases[i].key[1]}, .id = {c[2], c[3]}};
        uint32_t got[4];
        rng_block(&r, (uint64_t)c[1] << 32 | c[0], got);
        assert_memory_equal(got, cases[i].want, sizeof got);
    }
}

static void words_are_those_of_the_blocks(void **state)
{
    (void)state;
    rng r = rng_make(1, RNG_TEST, 2);
    for (uint64_t block = 0; block < 50; block++) {
        uint32_t words[4];
        rng_block(&r, block, words);
        for (uint64_t i = 0; i < 4; i++) {
            assert_int_equal(rng_u32(&r, 4 * block + i), words[i]);
            float want = (float)(words[i] >> 8) / 16777216.0f;
            assert_true(rng_uniform(&r, 4 * block + i) == want);
        }
    }
}

static void streams_are_apart(void **state)
{
    (void)state;
    uint64_t seen[2 * 5 * 8];
    size_t n = 0;
    for (uint64_t seed = 0; seed < 2; seed++)
        for (int purpose = RNG_INIT; purpose <= RNG_TEST; purpose++)
            for (uint64_t id = 0; id < 8; id++) {
                rng r = rng_make(seed, (rng_purpose)purpose, id << 8 * (id % 8));
                seen[n] = (uint64_t)rng_u32(&r, 0) << 32 | rng_u32(&r, 1);
                for (size_t i = 0; i < n; i++)
                    assert_true(seen[i] != seen[n]);
                n++;
            }
}

static void below_stays_below_and_reaches_all(void **state)
{
    (void)state;
    rng r = rng_make(3, RNG_TEST, 0);
    uint32_t count[10] = {0};
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t x = rng_below(&r, i, 10);
        assert_true(x < 10);
        count[x]++;
        assert_int_equal(rng_below(&r, i, 1), 0);
        assert_true(rng_below(&r, i, UINT64_MAX) < UINT64_MAX);
    }
    for (int i = 0; i < 10; i++) /* 10000 expected, deviation 95 */
        assert_in_range(count[i], 9500, 10500);
}

/* Mean, deviation, skew, kurtosis and the share beyond two deviations. */
static void normals_are_normal(void **state)
{
    (void)state;
    enum { N = 1000000 };
    rng r = rng_make(5, RNG_TEST, 0);
    double power[5] = {0}, pairs = 0, before = 0;
    int beyond = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = (double)rng_normal(&r, i), p = 1;
        for (int k = 1; k <= 4; k++)
            power[k] += p *= x;
        pairs += x * before;
        before = x;
        beyond += fabs(x) > 2;
    }
    assert_true(fabs(power[1] / N) < 0.005);
    assert_true(fabs(power[2] / N - 1) < 0.01);
    assert_true(fabs(power[3] / N) < 0.02);
    assert_true(fabs(power[4] / N - 3) < 0.05);
    assert_true(fabs(pairs / N) < 0.005);
    assert_true(fabs((double)beyond / N - 0.0455) < 0.002);
}

static void uniforms_are_uniform(void **state)
{
    (void)state;
    enum { N = 1000000 };
    rng r = rng_make(7, RNG_TEST, 0);
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        double x = (double)rng_uniform(&r, i);
        assert_true(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / N - 0.5) < 0.002);
    assert_true(fabs(squares / N - 1.0 / 3) < 0.002);
}

/* Results of a run must not change with the program: these bits are part of it. */
static void bits_never_change(void **state)
{
    (void)state;
    rng r = rng_make(42, RNG_INIT, 7);
    float normal = rng_normal(&r, 1234567);
    uint32_t bits;
    memcpy(&bits, &normal, sizeof bits);
    assert_int_equal(rng_u32(&r, 0), 0x77a82d03);
    assert_int_equal(bits, 0xbf6115a6);
    assert_true(rng_mix(0, 0) == 0xe220a8397b1dcdafu); /* splitmix64's first number */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),
        cmocka_unit_test(words_are_those_of_the_blocks),
        cmocka_unit_test(streams_are_apart),
        cmocka_unit_test(below_stays_below_and_reaches_all),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(uniforms_are_uniform),
        cmocka_unit_test(bits_never_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
