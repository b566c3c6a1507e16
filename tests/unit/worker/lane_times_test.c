/* Where the time of a lane without a slot goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/live/counters.h"
#include "worker/lane_times.h"

enum { IDLE_US = 5 * 1000 * 1000 };

typedef struct counts {
    int64_t lanes, wire, idle;
} counts;

static counts now(void)
{
    return (counts){counter_get(COUNTER_WORKER_FOR_LANES), counter_get(COUNTER_WORKER_FOR_WIRE),
                    counter_get(COUNTER_WORKER_IDLE)};
}

static void begin_idle(lane_times *t)
{
    lane_times_idle(t);
    t->begin_us = clock_us() - IDLE_US;
}

/* It was idle for five seconds after a slot of step 7, when it is given one; other lanes were done `free_us` after it
 * (0: nothing was done since slots were dropped). */
static counts idle_until(int64_t step, int64_t free_us)
{
    lane_times t = {.lane = 0, .step = 7, .has_begun = true};
    counts before = now();
    begin_idle(&t);
    lane_times_idle_end(&t, step, free_us ? t.begin_us + free_us : 0);
    counts c = now();
    return (counts){c.lanes - before.lanes, c.wire - before.wire, c.idle - before.idle};
}

static void from_one_step_to_the_next(void **state)
{
    (void)state;
    counts c = idle_until(8, IDLE_US / 5);
    assert_int_equal(c.lanes, IDLE_US / 5);
    assert_true(c.wire >= IDLE_US - IDLE_US / 5);
    assert_int_equal(c.idle, c.lanes + c.wire);
}

static void expect_idle_alone(counts c)
{
    assert_int_equal(c.lanes, 0);
    assert_int_equal(c.wire, 0);
    assert_true(c.idle >= IDLE_US);
}

/* It took that long until there was a new era: nobody waited for the wire, nor for lanes. */
static void after_slots_were_dropped(void **state)
{
    (void)state;
    expect_idle_alone(idle_until(8, 0));
    expect_idle_alone(idle_until(7, 0));
    expect_idle_alone(idle_until(5, IDLE_US / 5));
}

static void a_step_without_a_slot(void **state)
{
    (void)state;
    expect_idle_alone(idle_until(9, IDLE_US / 5));
}

/* What has not ended counts once others have ended slots; and once it ends, not once more. */
static void while_it_goes_on(void **state)
{
    (void)state;
    lane_times t = {.lane = 0, .step = 7, .has_begun = true};
    counts before = now();
    begin_idle(&t);
    lane_times_idle_on(&t);
    assert_int_equal(now().idle, before.idle);
    counter_add(COUNTER_WORKER_SLOTS, 1);
    lane_times_idle_on(&t);
    assert_in_range(now().idle - before.idle, IDLE_US, 2 * IDLE_US);
    lane_times_idle_end(&t, 8, t.begin_us + IDLE_US / 5);
    counts after = now();
    assert_in_range(after.idle - before.idle, IDLE_US, 2 * IDLE_US);
    assert_int_equal(after.lanes - before.lanes, IDLE_US / 5);
    assert_int_equal(after.idle - before.idle, after.lanes - before.lanes + after.wire - before.wire);
}

/* A lane that never gets a slot: until its worker has computed one it begins, and from then on it is idle. */
static void without_any_slot(void **state)
{
    (void)state;
    lane_times t = {.lane = 1};
    int64_t starting = counter_get(COUNTER_WORKER_STARTING);
    counts before = now();
    begin_idle(&t);
    lane_times_idle_on(&t);
    assert_int_equal(now().idle, before.idle);
    counter_add(COUNTER_WORKER_SLOTS, 1);
    lane_times_idle_on(&t);
    starting = counter_get(COUNTER_WORKER_STARTING) - starting;
    assert_in_range(starting, IDLE_US, 2 * IDLE_US);
    assert_int_equal(now().idle - before.idle, starting);
    t.begin_us -= IDLE_US;
    lane_times_idle_end(&t, 9, t.begin_us);
    counts after = now();
    assert_in_range(after.idle - before.idle - starting, IDLE_US, 2 * IDLE_US);
    assert_int_equal(after.wire, before.wire);
    assert_int_equal(after.lanes, before.lanes);
}

/* Slots that were given are dropped while gradients are not taken: that is no wait for these any more. */
static void given_and_dropped(void **state)
{
    (void)state;
    lane_times t = {.lane = 0, .step = 7, .has_begun = true};
    lane_times_idle(&t);
    lane_times_given(&t, true);
    assert_true(t.given_us);
    lane_times_given(&t, false);
    lane_times_idle_end(&t, 7, 0);
    assert_int_equal(t.untaken_us, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_one_step_to_the_next),
        cmocka_unit_test(after_slots_were_dropped),
        cmocka_unit_test(a_step_without_a_slot),
        cmocka_unit_test(while_it_goes_on),
        cmocka_unit_test(without_any_slot),
        cmocka_unit_test(given_and_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
