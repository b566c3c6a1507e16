/* Trials: how long it is until a lane without slots is tried, or a worker without any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/trials.h"

static const view_lane worker = {.worker = 1};

static void check_due_after(const trials *t, int64_t since_us, int64_t pause_us)
{
    assert_false(trials_is_due(t, &worker, 0, since_us + pause_us - 1));
    assert_true(trials_is_due(t, &worker, 0, since_us + pause_us));
}

static void fail_trial(trials *t, bool is_own, int64_t now_us)
{
    trials_begin(t, &(trial){.lane = worker, .is_own = is_own, .begin_us = now_us});
    trials_fail(t, now_us);
}

/* Three trials of a lane that stays slow make its pauses long, as often as it takes... */
static int64_t tire_of_lane(trials *t)
{
    int64_t now_us = 1, pause_us = TRIALS_FIRST_US;
    trials_note(t, &worker, IDLE_LANES, now_us);
    for (int i = 0; i < 3; i++) {
        check_due_after(t, now_us, pause_us);
        now_us += pause_us;
        fail_trial(t, true, now_us);
        pause_us *= 2;
    }
    assert_int_equal(pause_us, TRIALS_LATEST_US);
    check_due_after(t, now_us, TRIALS_LATEST_US);
    return now_us;
}

/* ...which says nothing of its worker, that has other lanes. */
static void a_slow_lane_keeps_no_worker_away(void **state)
{
    (void)state;
    trials t = {.n = 0};
    int64_t now_us = tire_of_lane(&t);
    trials_note(&t, &worker, IDLE_WORKER, now_us);
    check_due_after(&t, now_us, TRIALS_FIRST_US);
    fail_trial(&t, false, now_us);
    check_due_after(&t, now_us, 2 * TRIALS_FIRST_US);
    trials_note(&t, &worker, IDLE_LANES, now_us); /* it has slots again, its slow lane has not */
    check_due_after(&t, now_us, TRIALS_LATEST_US);
    trials_note(&t, &worker, IDLE_NOTHING, now_us);
    assert_false(trials_is_due(&t, &worker, 0, INT64_MAX));
    trials_fini(&t);
}

/* Who passes and soon has none again is tried later; after a good while as at first. */
static void who_was_good_for_a_while_begins_anew(void **state)
{
    (void)state;
    trials t = {.n = 0};
    trials_note(&t, &worker, IDLE_WORKER, 1);
    trials_begin(&t, &(trial){.lane = worker, .begin_us = 1});
    trials_pass(&t, 1);
    trials_note(&t, &worker, IDLE_NOTHING, 1);
    trials_note(&t, &worker, IDLE_WORKER, 2);
    check_due_after(&t, 2, 4 * TRIALS_FIRST_US);
    trials_begin(&t, &(trial){.lane = worker, .begin_us = 2});
    trials_pass(&t, 2);
    trials_note(&t, &worker, IDLE_NOTHING, 2);
    int64_t later_us = 5 * TRIALS_LATEST_US;
    trials_note(&t, &worker, IDLE_WORKER, later_us);
    check_due_after(&t, later_us, TRIALS_FIRST_US);
    trials_fini(&t);
}

static void another_life_begins_anew(void **state)
{
    (void)state;
    trials t = {.n = 0};
    int64_t now_us = tire_of_lane(&t);
    trials_forget(&t, &worker);
    assert_false(trials_is_due(&t, &worker, 0, INT64_MAX));
    trials_note(&t, &worker, IDLE_LANES, now_us);
    check_due_after(&t, now_us, TRIALS_FIRST_US);
    trials_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_lane_keeps_no_worker_away),
        cmocka_unit_test(who_was_good_for_a_while_begins_anew),
        cmocka_unit_test(another_life_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
