/* The deal: whole, contiguous, even, and a pure function of lanes and slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/view.h"

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
    view_deal(lanes, n_lanes, n_slots, owners);
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
    view_deal(lanes, 7, 3, owners);
    for (int k = 0; k < 3; k++)
        assert_int_equal(lane_number(lanes, &owners[k]), k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_contiguous_and_even),
        cmocka_unit_test(lanes_beyond_the_slots_get_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
