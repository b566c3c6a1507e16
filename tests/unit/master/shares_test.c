/*
 * Shares: whole, contiguous, even among equals, as quick as any among lanes of different speed, and
 * with links in mind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/rng.h"
#include "master/lanes/shares.h"

#include <math.h>

enum { LANES = 20, SLOTS = 40 };

static const double WITHIN = 1.02;

static void make_lanes(view_lane *ret)
{
    for (uint32_t i = 0; i < LANES; i++)
        ret[i] = (view_lane){.trainer = i < 2, .worker = i / 2, .lane = i % 2};
}

static const double ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Workers of two lanes, or one where lanes end. */
static size_t make_workers(const view_lane *lanes, const double *slot_s, size_t n, share_worker *ret)
{
    size_t n_workers = 0;
    for (size_t i = 0; i < n; i += 2)
        ret[n_workers++] = (share_worker){.name = lanes[i],
                                          .n_lanes = i + 1 < n ? 2 : 1,
                                          .slot_s = (slot_s ? slot_s : ones) + i};
    return n_workers;
}

static void deal_slots(const view_lane *lanes, const double *slot_s, size_t n, uint32_t n_slots,
                       view_lane *ret)
{
    share_worker workers[LANES];
    size_t n_workers = make_workers(lanes, slot_s, n, workers);
    shares_deal(workers, n_workers, n_slots, ret);
}

static double seconds_of(const view_lane *lanes, const double *slot_s, size_t n, const view_lane *owners,
                         uint32_t n_slots)
{
    share_worker workers[LANES];
    size_t n_workers = make_workers(lanes, slot_s, n, workers);
    return shares_step(workers, n_workers, owners, n_slots);
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
    deal_slots(lanes, NULL, n_lanes, n_slots, owners);
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
    deal_slots(lanes, NULL, 7, 3, owners);
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
        deal_slots(lanes, slot_s, n, k, owners);
        for (uint32_t s = 1; s < k; s++)
            assert_true(lane_number(lanes, &owners[s]) >= lane_number(lanes, &owners[s - 1]));
        double seconds = seconds_of(lanes, slot_s, n, owners, k);
        assert_true(seconds <= best(slot_s, n, k) * (1 + 1e-12));
    }
}

static void a_lane_gets_as_much_as_it_can_do(void **state)
{
    (void)state;
    view_lane lanes[LANES], owners[8];
    make_lanes(lanes);
    deal_slots(lanes, (double[]){1, 3}, 2, 8, owners);
    assert_int_equal(lane_number(lanes, &owners[5]), 0);
    assert_int_equal(lane_number(lanes, &owners[6]), 1);
    assert_true(seconds_of(lanes, (double[]){1, 3}, 2, owners, 8) == 6);
    /* too slow for even one */
    deal_slots(lanes, (double[]){1, 100}, 2, 8, owners);
    assert_int_equal(lane_number(lanes, &owners[7]), 0);
    /* equals: the first get what is left */
    deal_slots(lanes, (double[]){2, 2, 2}, 3, 4, owners);
    assert_int_equal(lane_number(lanes, &owners[1]), 0);
    assert_int_equal(lane_number(lanes, &owners[2]), 1);
    assert_int_equal(lane_number(lanes, &owners[3]), 2);
}

/* --- with links --- */

static const double one[] = {1};

static uint32_t slots_of(const view_lane *owners, uint32_t n_slots, uint32_t worker)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < n_slots; k++)
        n += owners[k].worker == worker;
    return n;
}

static void a_slow_link_leaves_fewer_slots_or_none(void **state)
{
    (void)state;
    static const struct {
        double fixed_s;
        uint32_t slots;
    } cases[] = {{0, 4}, {2, 3}, {4, 2}, {6, 1}, {8, 0}, {100, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        share_worker workers[] = {{{.worker = 0}, 1, one, 0, 0, false},
                                  {{.worker = 1}, 1, one, cases[i].fixed_s, 0, false}};
        view_lane owners[8];
        shares_deal(workers, 2, 8, owners);
        assert_int_equal(slots_of(owners, 8, 1), cases[i].slots);
    }
}

static void a_turn_is_pull_and_lanes_and_pushes(void **state)
{
    (void)state;
    static const double slot_s[] = {2, 3};
    share_worker w = {{.worker = 1}, 2, slot_s, 10, 5, false};
    view_lane owners[8];
    for (uint32_t k = 0; k < 8; k++) /* slots 3 to 7: lane 0 has 3 and 4, lane 1 the rest */
        owners[k] = (view_lane){.worker = k >= 3, .lane = k >= 5};
    assert_int_equal(shares_nodes(owners, 8, &w.name), 2);  /* slot 3, and slots 4 to 7 */
    assert_true(shares_turn(&w, owners, 8) == 10 + 9 + 5);  /* the first has left by then */
    w.push_s = 20;
    assert_true(shares_turn(&w, owners, 8) == 10 + 2 + 20 + 20);
    assert_true(shares_turn(&w, owners, 3) == 0);
    assert_int_equal(shares_nodes(owners, 3, &w.name), 0);
}

static void who_is_barred_gets_none_while_there_are_others(void **state)
{
    (void)state;
    share_worker workers[] = {{{.worker = 0}, 1, one, 0, 0, true}, {{.worker = 1}, 1, one, 0, 0, false}};
    view_lane owners[8];
    shares_deal(workers, 2, 8, owners);
    assert_int_equal(slots_of(owners, 8, 1), 8);
    workers[1].barred = true;
    shares_deal(workers, 2, 8, owners);
    assert_int_equal(slots_of(owners, 8, 1), 4);
}

/* 4 and 4 slots are two nodes, 5 and 3 are four. */
static void runs_end_where_few_nodes_are_pushed(void **state)
{
    (void)state;
    static const double quick[] = {0.7};
    share_worker workers[] = {{{.worker = 0}, 1, quick, 0, 2, false}, {{.worker = 1}, 1, one, 0, 2, false}};
    view_lane owners[8];
    shares_deal(workers, 2, 8, owners);
    assert_int_equal(slots_of(owners, 8, 1), 4);
    workers[0].push_s = workers[1].push_s = 0;
    shares_deal(workers, 2, 8, owners);
    assert_int_equal(slots_of(owners, 8, 1), 3);
}

/* Against every way to divide the slots among three workers, with links, within what alignment costs. */
static void few_deals_are_quicker_with_links(void **state)
{
    (void)state;
    rng r = rng_make(6, RNG_TEST, 1);
    for (uint64_t i = 0; i < 500; i++) {
        double slot_s[3], least = INFINITY;
        share_worker workers[3];
        uint32_t n_slots = 3 + (uint32_t)rng_below(&r, 16 * i, 14);
        for (uint32_t w = 0; w < 3; w++) {
            slot_s[w] = (double)(1 + rng_below(&r, 16 * i + 1 + w, 20)) / 7;
            workers[w] = (share_worker){{.worker = w}, 1, &slot_s[w],
                                        (double)rng_below(&r, 16 * i + 4 + w, 30) / 7,
                                        (double)rng_below(&r, 16 * i + 7 + w, 20) / 7, false};
        }
        view_lane owners[SLOTS];
        for (uint32_t a = 0; a <= n_slots; a++)
            for (uint32_t b = a; b <= n_slots; b++) {
                for (uint32_t k = 0; k < n_slots; k++)
                    owners[k] = (view_lane){.worker = k < a ? 0 : k < b ? 1 : 2};
                least = fmin(least, shares_step(workers, 3, owners, n_slots));
            }
        shares_deal(workers, 3, n_slots, owners);
        assert_true(shares_step(workers, 3, owners, n_slots) <= WITHIN * least);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_contiguous_and_even),
        cmocka_unit_test(lanes_beyond_the_slots_get_none),
        cmocka_unit_test(no_deal_is_quicker),
        cmocka_unit_test(a_lane_gets_as_much_as_it_can_do),
        cmocka_unit_test(a_slow_link_leaves_fewer_slots_or_none),
        cmocka_unit_test(a_turn_is_pull_and_lanes_and_pushes),
        cmocka_unit_test(who_is_barred_gets_none_while_there_are_others),
        cmocka_unit_test(runs_end_where_few_nodes_are_pushed),
        cmocka_unit_test(few_deals_are_quicker_with_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
