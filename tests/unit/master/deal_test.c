/* The deal: it changes when lanes come or go, are late, or are measured to be of different speed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/deal.h"
#include "master/lanes/pace.h"

enum { LANES = 3, SLOTS = 6 };

static const hedge_lane lanes[LANES] = {
    {.lane = {.worker = 0}}, {.lane = {.worker = 1}}, {.lane = {.worker = 2}}};
static const bool nothing_in[SLOTS];

static uint32_t slots_of(const deal *d, uint32_t worker)
{
    uint32_t n = 0;
    for (int k = 0; k < SLOTS; k++)
        n += deal_owners(d)[k].worker == worker;
    return n;
}

/* Each lane reports often enough to be known. */
static void measure(deal *d, const double seconds[LANES], int64_t now_us)
{
    for (int i = 0; i < LANES; i++)
        for (int n = 0; n < PACE_KEPT; n++)
            assert_false(deal_report(d, &lanes[i].lane, 0, seconds[i], false, now_us));
}

/* Nobody is late. */
static deal_change look(deal *d, int64_t now_us)
{
    deal_pause(d, now_us);
    return deal_look(d, lanes, LANES, nothing_in, SLOTS, now_us);
}

static void lanes_that_come_and_go_change_it(void **state)
{
    (void)state;
    deal *d = deal_create(SLOTS, false);
    assert_null(deal_owners(d));
    assert_int_equal(look(d, 0), DEAL_SAME);
    deal_anew(d, lanes, 1, 0);
    assert_int_equal(slots_of(d, 0), SLOTS);
    deal_anew(d, lanes, LANES, 0);
    for (uint32_t w = 0; w < LANES; w++)
        assert_int_equal(slots_of(d, w), 2);
    assert_null(deal_hedge(d, 0));
    deal_destroy(&d);
    deal_destroy(&d);
}

static void a_slow_lane_gets_less_if_asked_for(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        deal *d = deal_create(SLOTS, asked);
        deal_anew(d, lanes, LANES, 0);
        measure(d, (double[]){1, 4, 1}, 0);
        assert_int_equal(look(d, DEAL_LOOK_US - 1), DEAL_SAME);
        assert_int_equal(look(d, DEAL_LOOK_US), asked ? DEAL_REBALANCED : DEAL_SAME);
        assert_int_equal(slots_of(d, 1), asked ? 0 : 2);
        deal_destroy(&d);
    }
}

static void small_gains_are_not_worth_it(void **state)
{
    (void)state;
    deal *d = deal_create(SLOTS, true);
    deal_anew(d, lanes, LANES, 0);
    measure(d, (double[]){1, 1.6, 1}, 0); /* 3.2 against 3 */
    assert_int_equal(look(d, DEAL_LOOK_US), DEAL_SAME);
    measure(d, (double[]){1, 1.7, 1}, 0); /* 3.4 against 3 */
    assert_int_equal(look(d, 2 * DEAL_LOOK_US), DEAL_REBALANCED);
    deal_destroy(&d);
}

static void changes_keep_their_distance(void **state)
{
    (void)state;
    deal *d = deal_create(SLOTS, true);
    deal_anew(d, lanes, LANES, 0);
    int64_t now = DEAL_LOOK_US;
    measure(d, (double[]){1, 4, 1}, now);
    assert_int_equal(look(d, now), DEAL_REBALANCED);
    measure(d, (double[]){4, 1, 1}, now);
    assert_int_equal(look(d, now + DEAL_EVERY_US - 1), DEAL_SAME);
    assert_int_equal(look(d, now + DEAL_EVERY_US), DEAL_REBALANCED);
    assert_int_equal(slots_of(d, 0), 0);
    deal_destroy(&d);
}

static void a_new_deal_knows_the_speeds(void **state)
{
    (void)state;
    deal *d = deal_create(SLOTS, true);
    deal_anew(d, lanes, LANES, 0);
    measure(d, (double[]){1, 1, 4}, 0);
    deal_anew(d, lanes + 1, 2, 1);
    assert_int_equal(slots_of(d, 1), 5);
    deal_forget_worker(d, &lanes[2].lane);
    deal_anew(d, lanes + 1, 2, 1);
    assert_int_equal(slots_of(d, 1), 3);
    deal_destroy(&d);
}

/* Steps of 10 ms, then one that waits for worker 2. */
static void late_lanes_are_hedged_and_forgiven(void **state)
{
    (void)state;
    deal *d = deal_create(SLOTS, false);
    deal_anew(d, lanes, LANES, 0);
    int64_t now = 0;
    for (int i = 0; i < 20; i++)
        deal_step(d, now += 10000);
    bool is_in[SLOTS];
    for (int k = 0; k < SLOTS; k++)
        is_in[k] = deal_owners(d)[k].worker != 2;
    now += HEDGE_LEAST_US + 1;
    deal_pause(d, now);
    assert_int_equal(deal_look(d, lanes, LANES, is_in, SLOTS, now), DEAL_SAME);
    now += HEDGE_LEAST_US + 1;
    assert_int_equal(deal_look(d, lanes, LANES, is_in, SLOTS, now), DEAL_HEDGED);
    assert_non_null(deal_hedge(d, SLOTS - 1));
    /* a copy of it that comes second does not say that it is in time */
    assert_false(deal_report(d, &lanes[2].lane, SLOTS - 1, 1, false, now));
    assert_false(deal_report(d, &lanes[0].lane, SLOTS - 1, 1, true, now));
    assert_true(deal_report(d, &lanes[2].lane, SLOTS - 1, 1, true, now));
    assert_null(deal_hedge(d, SLOTS - 1));
    deal_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_that_come_and_go_change_it),
        cmocka_unit_test(a_slow_lane_gets_less_if_asked_for),
        cmocka_unit_test(small_gains_are_not_worth_it),
        cmocka_unit_test(changes_keep_their_distance),
        cmocka_unit_test(a_new_deal_knows_the_speeds),
        cmocka_unit_test(late_lanes_are_hedged_and_forgiven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
