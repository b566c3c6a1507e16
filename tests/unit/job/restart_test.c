/* How often a task is started again, and what is forgiven. */
#include "job/process/restart.h"

#include "common/base/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SECOND_US = 1000000, WEEK_S = 7 * 24 * 3600 };

static const restart_limit limit = {.most = 5, .forgiven_s = 600};

static void pauses_grow(void **state)
{
    (void)state;
    static const int64_t expected_ms[] = {0, 200, 400, 800, 1600, 3200, 5000, 5000};
    restart r = RESTART_INIT;
    const restart_limit eight = {COUNT_OF(expected_ms), 600};
    for (size_t i = 0; i < COUNT_OF(expected_ms); i++) {
        int64_t pause_us = -1;
        assert_true(restart_plan(&r, &eight, 1000, &pause_us));
        assert_int_equal(pause_us, expected_ms[i] * 1000);
        assert_int_equal(r.due_us, 1000 + pause_us);
    }
    int64_t pause_us;
    assert_false(restart_plan(&r, &eight, 1000, &pause_us));
}

static void codes_tell_what_may_help(void **state)
{
    (void)state;
    static const int final[] = {0, 1, 2, 3, 4, 127, 143}, passing[] = {128 + 9, 128 + 6, 200, 201};
    for (size_t i = 0; i < COUNT_OF(final); i++)
        assert_false(restart_may_help(final[i]));
    for (size_t i = 0; i < COUNT_OF(passing); i++)
        assert_true(restart_may_help(passing[i]));
}

static void a_loop_of_deaths_ends(void **state)
{
    (void)state;
    restart r = RESTART_INIT;
    int64_t now = 0, pause = -1;
    restart_began(&r, now);
    for (int i = 1; i <= limit.most; i++) {
        now += 599 * (int64_t)SECOND_US;
        assert_true(restart_plan(&r, &limit, now, &pause));
        assert_int_equal(r.due_us, now + pause);
        now += pause;
        restart_began(&r, now);
        assert_true(r.due_us == INT64_MAX);
    }
    assert_int_equal(pause, 1600 * 1000); /* 0, 0.2, 0.4, 0.8, 1.6 s */
    assert_false(restart_plan(&r, &limit, now + SECOND_US, &pause));
}

static void a_death_a_week_is_forgiven_for_ever(void **state)
{
    (void)state;
    restart r = RESTART_INIT;
    int64_t now = 0, pause = -1;
    for (int i = 1; i <= 100; i++) {
        restart_began(&r, now);
        now += WEEK_S * (int64_t)SECOND_US;
        assert_true(restart_plan(&r, &limit, now, &pause));
        assert_int_equal(pause, 0);
        assert_int_equal(r.counted, 1);
        assert_int_equal(r.n, i);
    }
}

static void who_may_not_start_again_does_not(void **state)
{
    (void)state;
    restart r = RESTART_INIT;
    int64_t pause = -1;
    restart_began(&r, 0);
    assert_false(restart_plan(&r, &(restart_limit){0, 600}, WEEK_S * (int64_t)SECOND_US, &pause));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_grow),
        cmocka_unit_test(codes_tell_what_may_help),
        cmocka_unit_test(a_loop_of_deaths_ends),
        cmocka_unit_test(a_death_a_week_is_forgiven_for_ever),
        cmocka_unit_test(who_may_not_start_again_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
