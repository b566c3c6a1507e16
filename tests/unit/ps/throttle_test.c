/*
 * When the writer of a checkpoint rests: while versions follow one another, and for how long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/throttle.h"

enum { STEP = 100000, WORK = 300, TIMES = 7 };

/* Versions 1 to `n`, each of three parts that come one after the other. */
static int64_t train(throttle *r, int64_t n)
{
    int64_t now = 5 * STEP;
    for (int64_t version = 1; version <= n; version++, now += STEP)
        for (int64_t part = 0; part < 3; part++)
            throttle_moved(r, version, now + part);
    return now - STEP + 2; /* when the last part moved */
}

static void test_nothing_is_known_before_two_versions(void **state)
{
    (void)state;
    throttle r = {0};
    assert_int_equal(throttle_pause_us(&r, WORK, 1), 0);
    int64_t now = train(&r, 1);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 1), 0);
}

static void test_rests_while_versions_follow(void **state)
{
    (void)state;
    throttle r = {0};
    int64_t now = train(&r, 2);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 1), TIMES * WORK);
    assert_int_equal(throttle_pause_us(&r, 0, now + 1), 0);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 2 * STEP - 1), TIMES * WORK);
}

static void test_no_rest_when_training_stands(void **state)
{
    (void)state;
    throttle r = {0};
    int64_t now = train(&r, 9);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 2 * STEP), 0);
}

static void test_parts_of_an_older_version_change_no_measure(void **state)
{
    (void)state;
    throttle r = {0};
    int64_t now = train(&r, 4);
    throttle_moved(&r, 3, now + 1);
    throttle_moved(&r, 4, now + 2);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 2 + 2 * STEP - 1), TIMES * WORK);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 2 + 2 * STEP), 0);
}

static void test_a_new_era_is_measured_anew(void **state)
{
    (void)state;
    throttle r = {0};
    int64_t now = train(&r, 4);
    throttle_forget(&r);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 1), 0);
    now = train(&r, 2);
    assert_int_equal(throttle_pause_us(&r, WORK, now + 1), TIMES * WORK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known_before_two_versions),
        cmocka_unit_test(test_rests_while_versions_follow),
        cmocka_unit_test(test_no_rest_when_training_stands),
        cmocka_unit_test(test_parts_of_an_older_version_change_no_measure),
        cmocka_unit_test(test_a_new_era_is_measured_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
