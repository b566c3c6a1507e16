/*
 * The deal: whole, contiguous, even among equals, and as quick as any deal can be among lanes of
 * different speed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "master/lanes/view.h"

enum { LANES = 20, SLOTS = 40 };

static void make_lanes(view_lane *ret)
{
    for (uint32_t i = 0; i < LANES; i++)
        ret[i] = (view_lane){.trainer = i < 2, .worker = i / 2, .lane = i % 2};
}

static int lane_number(const view_lane *lanes, const view_lane *x)
{
    for (int i = 0; i < LANES; i++)
        if (lanes[i].worker == x->worker && lanes[i].lane == x->lane)
            return i;
    return -1;
}

static void check_deal(const view_lane *lanes, size_t n_lanes, uint32_t n_slots)
{
    view_lane owners[SLOTS];
    uint32_t dealt[LANES] = {0}, busy = 0, least = SLOTS, most = 0;
    view_deal(lanes, NULL, n_lanes, n_slots, owners);
    int before = -1;
    for (uint32_t k = 0; k < n_slots; k++) {
        int lane = lane_number(lanes, &owners[k]);
        assert_true(lane >= before);     /* runs, in the order of the lanes */
        assert_true(lane <= before + 1); /* and none is skipped */
        assert_true(lane < (int)n_lanes);
        assert_int_equal(owners[k].trainer, lanes[lane].trainer);
        dealt[lane]++;
        before = lane;
    }
    for (size_t i = 0; i < n_lanes; i++) {
        busy += dealt[i] > 0;
        least = dealt[i] && dealt[i] < least ? dealt[i] : least;
        most = dealt[i] > most ? dealt[i] : most;
    }
    assert_int_equal(busy, n_lanes < n_slots ? n_lanes : n_slots);
    assert_true(most - least <= 1);
}

static void runs_are_contiguous_and_even(void **state)
{
    (void)state;
    view_lane lanes[LANES];
    make_lanes(lanes);
    for (size_t n = 1; n <= LANES; n++)
        for (uint32_t k = 1; k <= SLOTS; k++)
            check_deal(lanes, n, k);
}

static void lanes_beyond_the_slots_get_none(void **state)
{
    (void)state;
    view_lane lanes[LANES], owners[3];
    make_lanes(lanes);
    view_deal(lanes, NULL, 7, 3, owners);
    for (int k = 0; k < 3; k++)
        assert_int_equal(lane_number(lanes, &owners[k]), k);
}

/* The least time any deal needs, by trying all of them. */
static double best(const double *slot_s, size_t n_lanes, uint32_t n_slots)
{
    if (n_lanes == 1)
        return n_slots * slot_s[0];
    double least = 1e30;
    for (uint32_t first = 0; first <= n_slots; first++) {
        double mine = first * slot_s[0], rest = best(slot_s + 1, n_lanes - 1, n_slots - first);
        double longer = mine > rest ? mine : rest;
        least = longer < least ? longer : least;
    }
    return least;
}

static void no_deal_is_quicker(void **state)
{
    (void)state;
    view_lane lanes[LANES], owners[SLOTS];
    make_lanes(lanes);
    rng r = rng_make(5, RNG_TEST, 1);
    for (uint64_t i = 0; i < 2000; i++) {
        double slot_s[4];
        size_t n = 1 + rng_below(&r, 8 * i, 4);
        uint32_t k = 1 + (uint32_t)rng_below(&r, 8 * i + 1, 9);
        for (size_t l = 0; l < n; l++)
            slot_s[l] = (double)(1 + rng_below(&r, 8 * i + 2 + l, 20)) / 7;
        view_deal(lanes, slot_s, n, k, owners);
        for (uint32_t s = 1; s < k; s++)
            assert_true(lane_number(lanes, &owners[s]) >= lane_number(lanes, &owners[s - 1]));
        double seconds = view_seconds(lanes, slot_s, n, owners, k);
        assert_true(seconds <= best(slot_s, n, k) * (1 + 1e-12));
    }
}

static void a_lane_gets_as_much_as_it_can_do(void **state)
{
    (void)state;
    view_lane lanes[LANES], owners[8];
    make_lanes(lanes);
    view_deal(lanes, (double[]){1, 3}, 2, 8, owners);
    assert_int_equal(lane_number(lanes, &owners[5]), 0);
    assert_int_equal(lane_number(lanes, &owners[6]), 1);
    assert_true(view_seconds(lanes, (double[]){1, 3}, 2, owners, 8) == 6);
    /* too slow for even one */
    view_deal(lanes, (double[]){1, 100}, 2, 8, owners);
    assert_int_equal(lane_number(lanes, &owners[7]), 0);
    /* equals: the first get what is left */
    view_deal(lanes, (double[]){2, 2, 2}, 3, 4, owners);
    assert_int_equal(lane_number(lanes, &owners[1]), 0);
    assert_int_equal(lane_number(lanes, &owners[2]), 1);
    assert_int_equal(lane_number(lanes, &owners[3]), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_contiguous_and_even),
        cmocka_unit_test(lanes_beyond_the_slots_get_none),
        cmocka_unit_test(no_deal_is_quicker),
        cmocka_unit_test(a_lane_gets_as_much_as_it_can_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
