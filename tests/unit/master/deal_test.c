/*
 * The deal: it changes when lanes come or go, are late, or are measured to be of different speed; and
 * what it tries comes to an end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/parts/steps.h"
#include "master/lanes/deal.h"
#include "master/lanes/trials.h"

enum { WORKERS = 3, SLOTS = 6, MS = 1000 };

static const hedge_lane lanes[WORKERS] = {
    {.lane = {.worker = 0}}, {.lane = {.worker = 1}}, {.lane = {.worker = 2}}};
static const steps six_slots = {.examples = 1000000, .batch_size = 1, .per_step = SLOTS};

typedef struct scene {
    deal *deal;
    uint32_t view;
    int64_t now_us;
} scene;

static scene begin(bool rebalances)
{
    scene s = {.deal = deal_create(&six_slots, 0, rebalances)};
    deal_anew(s.deal, lanes, WORKERS, ++s.view, 0);
    return s;
}

static uint32_t slots_of(const deal *d, uint32_t worker)
{
    uint32_t n = 0;
    for (int k = 0; k < SLOTS; k++)
        n += deal_owners(d)[k].worker == worker;
    return n;
}

static bool works(const scene *s, uint32_t worker)
{
    bool any = slots_of(s->deal, worker) > 0;
    for (uint32_t k = 0; k < SLOTS; k++)
        any |= deal_hedge(s->deal, k) && deal_hedge(s->deal, k)->worker == worker;
    return any;
}

/* True: it is in time, and was hedged. */
static bool deliver(scene *s, uint32_t worker, int64_t step, double turn_s)
{
    bool changed = deal_delivered(
        s->deal, &(deal_delivery){{.worker = worker}, step, s->view, turn_s, 0.0001}, s->now_us);
    s->view += changed;
    return changed;
}

static deal_change look(scene *s)
{
    deal_change c = deal_look(s->deal, lanes, WORKERS, s->view + 1, s->now_us);
    s->view += c != DEAL_SAME;
    return c;
}

/* Steps in which the worker brings what it has, after ms[worker] of a slot, and its link's way. */
static deal_change pass_steps(scene *s, int n, const int64_t slot_ms[WORKERS],
                              const int64_t wire_ms[WORKERS])
{
    for (int i = 0; i < n; i++) {
        int64_t step = deal_open_step(s->deal), begin_us = s->now_us, last_us = 0;
        for (int late = 0; late < WORKERS && deal_open_step(s->deal) == step; late++) {
            int64_t at_us = INT64_MAX;
            uint32_t next = 0;
            for (uint32_t w = 0; w < WORKERS; w++) { /* who is ready next */
                int64_t us = (slots_of(s->deal, w) * slot_ms[w] + wire_ms[w]) * MS + (int64_t)w;
                if (works(s, w) && us > last_us && us < at_us) {
                    at_us = us;
                    next = w;
                }
            }
            if (at_us == INT64_MAX)
                break;
            last_us = at_us;
            s->now_us = begin_us + at_us;
            deal_report(s->deal, &(view_lane){.worker = next}, (double)slot_ms[next] * 1e-3);
            deliver(s, next, step, (double)at_us * 1e-6);
        }
        deal_change c = look(s);
        if (c != DEAL_SAME)
            return c;
    }
    return DEAL_SAME;
}

/* Until the deal changes. */
static deal_change pass_until_changed(scene *s, const int64_t slot_ms[WORKERS],
                                      const int64_t wire_ms[WORKERS])
{
    return pass_steps(s, 1000000, slot_ms, wire_ms);
}

static const int64_t no_wire[WORKERS] = {0, 0, 0}, even[WORKERS] = {10, 10, 10};

static void lanes_that_come_and_go_change_it(void **state)
{
    (void)state;
    deal *d = deal_create(&six_slots, 0, false);
    assert_null(deal_owners(d));
    assert_int_equal(deal_look(d, lanes, WORKERS, 1, 0), DEAL_SAME);
    deal_anew(d, lanes, 1, 1, 0);
    assert_int_equal(slots_of(d, 0), SLOTS);
    deal_anew(d, lanes, WORKERS, 2, 0);
    for (uint32_t w = 0; w < WORKERS; w++)
        assert_int_equal(slots_of(d, w), 2);
    assert_null(deal_hedge(d, 0));
    deal_destroy(&d);
    deal_destroy(&d);
}

static void steps_end_when_all_is_on_the_servers(void **state)
{
    (void)state;
    scene s = begin(false);
    assert_int_equal(deal_open_step(s.deal), 0);
    deliver(&s, 0, 0, 0.01);
    deliver(&s, 0, 0, 0.01); /* said again */
    deliver(&s, 1, 0, 0.01);
    assert_true(deal_awaits(s.deal, &lanes[2].lane));
    assert_false(deal_awaits(s.deal, &lanes[0].lane));
    assert_int_equal(deal_open_step(s.deal), 0);
    deliver(&s, 2, 0, 0.01);
    assert_int_equal(deal_open_step(s.deal), 1);
    /* who is at a step had all that those before made */
    deliver(&s, 1, 2, 0.01);
    assert_int_equal(deal_open_step(s.deal), 2);
    deliver(&s, 0, 1, 0.01);
    assert_true(deal_awaits(s.deal, &lanes[0].lane));
    deliver(&s, 1, 9, 0.01);
    assert_int_equal(deal_open_step(s.deal), 9);
    deal_destroy(&s.deal);
}

static void what_was_said_before_a_view_does_not_count_for_it(void **state)
{
    (void)state;
    scene s = begin(false);
    deal_anew(s.deal, lanes, 2, s.view + 1, 0); /* worker 2 has gone */
    deliver(&s, 0, 0, 0.01);
    deliver(&s, 1, 0, 0.01);
    assert_int_equal(deal_open_step(s.deal), 0);
    s.view++;
    deliver(&s, 0, 0, 0.01);
    deliver(&s, 1, 0, 0.01);
    assert_int_equal(deal_open_step(s.deal), 1);
    deal_destroy(&s.deal);
}

static void a_slow_lane_gets_less_if_asked_for(void **state)
{
    (void)state;
    static const int64_t slow[WORKERS] = {10, 25, 10};
    for (int asked = 0; asked < 2; asked++) {
        scene s = begin(asked);
        assert_int_equal(pass_steps(&s, 200, slow, no_wire), asked ? DEAL_REBALANCED : DEAL_SAME);
        assert_int_equal(slots_of(s.deal, 1), asked ? 1 : 2);
        deal_destroy(&s.deal);
    }
}

/* As quick in computing as the others; and its lane is not dealt out altogether. */
static void a_slow_link_gets_less(void **state)
{
    (void)state;
    static const int64_t wire[WORKERS] = {0, 0, 18};
    scene s = begin(true);
    assert_int_equal(pass_until_changed(&s, even, wire), DEAL_REBALANCED);
    assert_int_equal(slots_of(s.deal, 2), 1);
    deal_destroy(&s.deal);
}

static void small_gains_are_not_worth_it(void **state)
{
    (void)state;
    static const int64_t nearly[WORKERS] = {20, 32, 20}; /* 64 against 60 */
    scene s = begin(true);
    assert_int_equal(pass_steps(&s, 500, nearly, no_wire), DEAL_SAME);
    deal_destroy(&s.deal);
}

/* Steps of 10 ms, then one that waits for worker 2. */
static void late_lanes_are_hedged_and_forgiven(void **state)
{
    (void)state;
    scene s = begin(false);
    assert_int_equal(pass_steps(&s, 20, even, no_wire), DEAL_SAME);
    int64_t step = deal_open_step(s.deal);
    deliver(&s, 0, step, 0.01);
    deliver(&s, 1, step, 0.01);
    s.now_us += LATE_LEAST_US + 1;
    deal_pause(s.deal, s.now_us);
    assert_int_equal(look(&s), DEAL_SAME);
    s.now_us += LATE_LEAST_US + 1;
    assert_int_equal(look(&s), DEAL_HEDGED);
    assert_non_null(deal_hedge(s.deal, SLOTS - 1));
    deliver(&s, 0, step, 0.02);
    deliver(&s, 1, step, 0.02);
    assert_int_equal(deal_open_step(s.deal), step + 1);
    /* what comes second does not say that it is in time */
    assert_false(deliver(&s, 2, step, 1));
    assert_non_null(deal_hedge(s.deal, SLOTS - 1));
    assert_true(deliver(&s, 2, step + 1, 0.01));
    assert_null(deal_hedge(s.deal, SLOTS - 1));
    deal_destroy(&s.deal);
}

/* Others bring its slots again and again: it gets none, is tried, and is one like others when it is. */
static void who_is_always_late_is_tried_now_and_then(void **state)
{
    (void)state;
    static const int64_t cut_off[WORKERS] = {0, 0, 100000000};
    scene s = begin(true);
    assert_int_equal(pass_steps(&s, 20, even, no_wire), DEAL_SAME);
    int64_t step = deal_open_step(s.deal);
    deliver(&s, 0, step, 0.01);
    deliver(&s, 1, step, 0.01);
    s.now_us += LATE_LEAST_US + 1;
    assert_int_equal(look(&s), DEAL_HEDGED);
    assert_int_equal(pass_until_changed(&s, even, cut_off), DEAL_REBALANCED);
    assert_int_equal(slots_of(s.deal, 2), 0);
    int64_t left_us = s.now_us, pause_us = 0;
    for (int i = 0; i < 3; i++) { /* each pause is longer */
        assert_int_equal(pass_until_changed(&s, even, cut_off), DEAL_TRIED);
        assert_true(works(&s, 2)); /* a slot that another has too */
        assert_int_equal(slots_of(s.deal, 2), 0);
        assert_true(s.now_us - left_us >= pause_us);
        pause_us = s.now_us - left_us;
        assert_true(pause_us >= TRIALS_FIRST_US);
        assert_int_equal(pass_until_changed(&s, even, cut_off), DEAL_TRIED);
        assert_false(works(&s, 2));
        left_us = s.now_us;
    }
    assert_int_equal(pass_until_changed(&s, even, no_wire), DEAL_TRIED);
    assert_int_equal(pass_until_changed(&s, even, no_wire), DEAL_REBALANCED);
    assert_int_equal(slots_of(s.deal, 2), 2);
    deal_destroy(&s.deal);
}

/* Worker 0 takes so long of late that it is hedged, and brings its slots just before the others do. */
static deal_change pass_hedged_step(scene *s)
{
    int64_t step = deal_open_step(s->deal);
    for (uint32_t w = 1; w < WORKERS; w++) {
        s->now_us += 10 * MS;
        deliver(s, w, step, 0.02);
    }
    s->now_us += LATE_LEAST_US + 1;
    assert_int_equal(look(s), DEAL_HEDGED);
    s->now_us += 200 * MS;
    for (uint32_t k = 0; k < slots_of(s->deal, 0); k++)
        deal_report(s->deal, &(view_lane){.worker = 0}, 0.35);
    assert_true(deliver(s, 0, step, 0.7));
    return look(s);
}

static void a_deal_is_judged_although_its_steps_are_hedged(void **state)
{
    (void)state;
    static const int64_t slow[WORKERS] = {10, 10, 25};
    enum { MOST = 15 + 3 }; /* steps that judging takes, and looking at the pace */
    scene s = begin(true);
    assert_int_equal(pass_until_changed(&s, slow, no_wire), DEAL_REBALANCED);
    assert_true(slots_of(s.deal, 0) >= 2);
    int n = 0;
    while (pass_hedged_step(&s) != DEAL_REBALANCED)
        assert_true(++n < MOST);
    assert_true(slots_of(s.deal, 0) < 2);
    deal_destroy(&s.deal);
}

static void a_new_life_begins_like_others(void **state)
{
    (void)state;
    static const int64_t slow[WORKERS] = {10, 100, 10};
    scene s = begin(true);
    assert_int_equal(pass_until_changed(&s, slow, no_wire), DEAL_REBALANCED);
    assert_int_equal(slots_of(s.deal, 1), 0);
    deal_forget_worker(s.deal, &lanes[1].lane);
    deal_anew(s.deal, lanes, WORKERS, ++s.view, s.now_us);
    assert_int_equal(slots_of(s.deal, 1), 2);
    deal_destroy(&s.deal);
}

/* What one lane of worker 0 takes for a slot; its other one and worker 1's take 10 ms. */
static deal_change pass_two_lanes(scene *s, double slow_s)
{
    static const hedge_lane three[] = {
        {.lane = {.worker = 0}}, {.lane = {.worker = 0, .lane = 1}}, {.lane = {.worker = 1}}};
    if (!deal_owners(s->deal))
        deal_anew(s->deal, three, 3, ++s->view, s->now_us);
    for (int i = 0; i < 100000; i++) {
        double lane_s[3] = {0};
        int64_t step = deal_open_step(s->deal);
        for (uint32_t k = 0; k < SLOTS; k++) {
            const view_lane *owner = &deal_owners(s->deal)[k];
            double slot_s = !owner->worker && owner->lane ? slow_s : 0.01;
            lane_s[owner->worker ? 2 : owner->lane] += slot_s;
            deal_report(s->deal, owner, slot_s);
        }
        double turn_s[2] = {lane_s[0] > lane_s[1] ? lane_s[0] : lane_s[1], lane_s[2]};
        uint32_t first = turn_s[1] < turn_s[0];
        int64_t begin_us = s->now_us;
        s->now_us = begin_us + (int64_t)(turn_s[first] * 1e6);
        deliver(s, first, step, turn_s[first]);
        s->now_us = begin_us + (int64_t)(turn_s[!first] * 1e6);
        deliver(s, !first, step, turn_s[!first]);
        deal_change c = deal_look(s->deal, three, 3, s->view + 1, s->now_us);
        s->view += c != DEAL_SAME;
        if (c != DEAL_SAME)
            return c;
    }
    return DEAL_SAME;
}

static uint32_t slots_of_lane(const deal *d, uint32_t worker, uint32_t lane)
{
    uint32_t n = 0;
    for (int k = 0; k < SLOTS; k++)
        n += deal_owners(d)[k].worker == worker && deal_owners(d)[k].lane == lane;
    return n;
}

/* Its worker has slots on another lane: one of these is what it is tried with. */
static void a_lane_without_slots_is_tried(void **state)
{
    (void)state;
    scene s = {.deal = deal_create(&six_slots, 0, true)};
    assert_int_equal(pass_two_lanes(&s, 0.2), DEAL_REBALANCED);
    assert_int_equal(slots_of_lane(s.deal, 0, 1), 0);
    for (int i = 0; i < 3; i++) { /* as slow as ever: one step is enough to see it */
        assert_int_equal(pass_two_lanes(&s, 0.2), DEAL_TRIED);
        assert_int_equal(slots_of_lane(s.deal, 0, 1), 1);
        int64_t step = deal_open_step(s.deal);
        assert_int_equal(pass_two_lanes(&s, 0.2), DEAL_TRIED);
        assert_int_equal(slots_of_lane(s.deal, 0, 1), 0);
        assert_true(deal_open_step(s.deal) <= step + 1);
    }
    assert_int_equal(pass_two_lanes(&s, 0.01), DEAL_TRIED);
    assert_int_equal(pass_two_lanes(&s, 0.01), DEAL_TRIED);
    assert_int_equal(pass_two_lanes(&s, 0.01), DEAL_REBALANCED);
    assert_int_equal(slots_of_lane(s.deal, 0, 1), 2);
    deal_destroy(&s.deal);
}

static void an_era_forgets_no_lane(void **state)
{
    (void)state;
    static const int64_t slow[WORKERS] = {10, 25, 10};
    scene s = begin(true);
    assert_int_equal(pass_until_changed(&s, slow, no_wire), DEAL_REBALANCED);
    assert_int_equal(slots_of(s.deal, 1), 1);
    deal_restart(s.deal, 7);
    assert_null(deal_owners(s.deal));
    assert_int_equal(deal_open_step(s.deal), 7);
    deal_anew(s.deal, lanes, WORKERS, ++s.view, s.now_us);
    assert_int_equal(slots_of(s.deal, 1), 1);
    deal_destroy(&s.deal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_that_come_and_go_change_it),
        cmocka_unit_test(steps_end_when_all_is_on_the_servers),
        cmocka_unit_test(what_was_said_before_a_view_does_not_count_for_it),
        cmocka_unit_test(a_slow_lane_gets_less_if_asked_for),
        cmocka_unit_test(a_slow_link_gets_less),
        cmocka_unit_test(small_gains_are_not_worth_it),
        cmocka_unit_test(late_lanes_are_hedged_and_forgiven),
        cmocka_unit_test(who_is_always_late_is_tried_now_and_then),
        cmocka_unit_test(a_deal_is_judged_although_its_steps_are_hedged),
        cmocka_unit_test(a_new_life_begins_like_others),
        cmocka_unit_test(a_lane_without_slots_is_tried),
        cmocka_unit_test(an_era_forgets_no_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
