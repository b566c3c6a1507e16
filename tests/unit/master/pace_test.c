/* How fast a lane is said to be: whatever one of several reports says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/pace.h"

#include <math.h>

enum { LANES = 3, SAID = 3 };

static const view_lane lanes[LANES] = {{.worker = 0}, {.worker = 0, .lane = 1}, {.worker = 1}};

static void say(pace *p, int i, double seconds, int n)
{
    for (int k = 0; k < n; k++)
        pace_report(p, &lanes[i], seconds);
}

static void speaks_after_a_report(void **state)
{
    (void)state;
    pace *p = pace_create();
    double s[LANES] = {7, 7, 7};
    assert_false(pace_of(p, lanes, LANES, s));
    assert_true(s[0] == 7);
    say(p, 0, 0.5, 1);
    assert_true(pace_of(p, lanes, LANES, s));
    assert_true(s[0] == 0.5);
    pace_destroy(&p);
    pace_destroy(&p);
}

static void a_few_slow_reports_change_nothing(void **state)
{
    (void)state;
    pace *p = pace_create();
    double s[LANES];
    say(p, 0, 0.25, 2 * RECENT_KEPT);
    say(p, 0, 30, RECENT_SHIFT - 1);
    assert_true(pace_of(p, lanes, 1, s));
    assert_true(s[0] == 0.25);
    say(p, 0, 0.25, 1);
    say(p, 0, 30, RECENT_SHIFT - 1);
    assert_true(pace_of(p, lanes, 1, s));
    assert_true(s[0] == 0.25);
    say(p, 0, 30, 1); /* so many in a row are a change */
    assert_true(pace_of(p, lanes, 1, s));
    assert_true(s[0] == 30);
    say(p, 0, 1, RECENT_SHIFT);
    assert_true(pace_of(p, lanes, 1, s));
    assert_true(s[0] == 1);
    pace_destroy(&p);
}

/* As its worker's other lanes or, where none of these is known, as all. */
static void who_is_not_known_is_ordinary(void **state)
{
    (void)state;
    pace *p = pace_create();
    double s[LANES];
    say(p, 0, 4, SAID);
    assert_true(pace_of(p, lanes, LANES, s));
    assert_true(s[0] == 4 && s[1] == 4 && s[2] == 4);
    say(p, 2, 1, SAID);
    assert_true(pace_of(p, lanes, LANES, s));
    assert_true(s[0] == 4 && s[1] == 4 && s[2] == 1);
    pace_destroy(&p);
}

static void a_worker_is_known_by_its_turns(void **state)
{
    (void)state;
    pace *p = pace_create();
    double fixed_s, push_s;
    pace_of_worker(p, &lanes[0], &fixed_s, &push_s);
    assert_true(fixed_s == 0 && push_s == 0);
    for (int i = 0; i < SAID; i++) {
        assert_int_equal(pace_turns(p, &lanes[0]), i);
        pace_turn(p, &lanes[0], i);
        pace_push(p, &lanes[0], 2 * i);
    }
    assert_int_equal(pace_turns(p, &lanes[1]), SAID); /* a lane of the same */
    assert_int_equal(pace_turns(p, &lanes[2]), 0);
    pace_of_worker(p, &lanes[1], &fixed_s, &push_s);
    assert_true(fixed_s == 1 && push_s == 2);
    for (int i = 0; i < 2 * RECENT_KEPT; i++) {
        pace_turn(p, &lanes[0], -1);
        pace_push(p, &lanes[0], (double)NAN);
    }
    pace_of_worker(p, &lanes[0], &fixed_s, &push_s);
    assert_true(fixed_s == 0 && push_s == 0);
    pace_forget_worker(p, &lanes[0]);
    assert_int_equal(pace_turns(p, &lanes[0]), 0);
    pace_destroy(&p);
}

static void another_life_is_another_machine(void **state)
{
    (void)state;
    pace *p = pace_create();
    double s[LANES];
    for (int i = 0; i < LANES; i++)
        say(p, i, 1 + i, SAID);
    pace_forget_worker(p, &lanes[0]);
    assert_true(pace_of(p, lanes, LANES, s));
    assert_true(s[0] == 3 && s[1] == 3 && s[2] == 3);
    pace_destroy(&p);
}

static void nonsense_is_no_report(void **state)
{
    (void)state;
    pace *p = pace_create();
    double s[LANES];
    say(p, 0, 0, SAID);
    say(p, 0, -1, SAID);
    say(p, 0, (double)NAN, SAID);
    say(p, 0, (double)INFINITY, SAID);
    assert_false(pace_of(p, lanes, LANES, s));
    pace_destroy(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speaks_after_a_report),
        cmocka_unit_test(a_few_slow_reports_change_nothing),
        cmocka_unit_test(who_is_not_known_is_ordinary),
        cmocka_unit_test(a_worker_is_known_by_its_turns),
        cmocka_unit_test(another_life_is_another_machine),
        cmocka_unit_test(nonsense_is_no_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
