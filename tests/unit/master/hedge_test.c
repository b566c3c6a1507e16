/* Hedges: late slots go to idle lanes of other workers, once each, until their owner is in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/hedge.h"

#include <string.h>

enum { LANES = 4, SLOTS = 6, MS = 1000 };

/* Worker 0 has two lanes, 1 and 2 have one. */
typedef struct job {
    hedges *hedges;
    int64_t now_us;
    view_lane owners[SLOTS];
    bool is_in[SLOTS];
    hedge_lane lanes[LANES];
} job;

static job job_make(int64_t step_us)
{
    job j = {.hedges = hedges_create(SLOTS),
             .lanes = {{.lane = {.worker = 0}},
                       {.lane = {.worker = 0, .lane = 1}},
                       {.lane = {.worker = 1}},
                       {.lane = {.worker = 2}}}};
    for (int k = 0; k < SLOTS; k++)
        j.owners[k] = j.lanes[k * LANES / SLOTS].lane;
    hedges_resume(j.hedges, 0);
    for (int i = 0; i < 20; i++)
        hedges_step(j.hedges, j.now_us += step_us);
    return j;
}

static bool look(job *j)
{
    hedge_scene s = {j->owners, j->is_in, SLOTS, j->lanes, LANES};
    return hedges_look(j->hedges, &s, j->now_us);
}

/* All slots but those of one worker have reported. */
static void wait_for(job *j, uint32_t worker, int64_t us)
{
    for (int k = 0; k < SLOTS; k++)
        j->is_in[k] = j->owners[k].worker != worker;
    j->now_us += us;
}

static int n_hedged(const job *j)
{
    int n = 0;
    for (uint32_t k = 0; k < SLOTS; k++)
        n += hedges_of(j->hedges, k) != NULL;
    return n;
}

static void late_slots_go_to_idle_lanes(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 2, HEDGE_LEAST_US);
    assert_false(look(&j));
    wait_for(&j, 2, 1);
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++) {
        const view_lane *by = hedges_of(j.hedges, k);
        assert_int_equal(by != NULL, j.owners[k].worker == 2);
        assert_true(!by || by->worker != 2);
    }
    assert_false(look(&j)); /* once is enough */
    hedges_destroy(&j.hedges);
    hedges_destroy(&j.hedges);
}

static void slow_steps_make_patient(void **state)
{
    (void)state;
    job j = job_make(400 * MS);
    hedges_step(j.hedges, j.now_us += 9000 * MS); /* one long step is no measure */
    wait_for(&j, 2, HEDGE_TIMES * 400 * MS);
    assert_false(look(&j));
    wait_for(&j, 2, 1);
    assert_true(look(&j));
    hedges_destroy(&j.hedges);
}

static void first_steps_are_given_time(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    hedges *young = hedges_create(SLOTS);
    hedges_destroy(&j.hedges);
    j.hedges = young;
    hedges_resume(young, 0);
    j.now_us = 0;
    wait_for(&j, 2, HEDGE_FIRST_US);
    assert_false(look(&j));
    wait_for(&j, 2, 1);
    assert_true(look(&j));
    hedges_destroy(&j.hedges);
}

static void a_lost_connection_is_late_at_once(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 1, 1);
    assert_false(look(&j));
    j.lanes[2].suspect = true;
    assert_true(look(&j));
    hedges_destroy(&j.hedges);
}

/* The step that waits is one before the open one: all have reported, but one was not heard. */
static void nobody_is_idle_when_a_dead_worker_is_missed(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    memset(j.is_in, 0, sizeof j.is_in);
    j.lanes[3].suspect = true;
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++) {
        assert_int_equal(hedges_of(j.hedges, k) != NULL, j.owners[k].worker == 2);
        assert_true(!hedges_of(j.hedges, k) || hedges_of(j.hedges, k)->worker != 2);
    }
    assert_false(look(&j));
    hedges_destroy(&j.hedges);
}

static void who_is_alone_hedges_for_nobody(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    memset(j.is_in, 0, sizeof j.is_in);
    for (int i = 0; i < LANES; i++)
        j.lanes[i].suspect = true;
    assert_false(look(&j));
    assert_int_equal(n_hedged(&j), 0);
    hedges_destroy(&j.hedges);
}

static void who_computes_does_not_hedge(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 2, HEDGE_LEAST_US + 1);
    for (int k = 0; k < SLOTS; k++)
        j.is_in[k] = false;
    assert_false(look(&j));
    j.is_in[0] = j.is_in[1] = true; /* one lane of worker 0 is done, the other is not */
    assert_false(look(&j));
    for (int k = 0; k < SLOTS; k++)
        j.is_in[k] = j.owners[k].worker == 1;
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++)
        assert_true(!hedges_of(j.hedges, k) || hedges_of(j.hedges, k)->worker == 1);
    hedges_destroy(&j.hedges);
}

static void who_hedges_and_stops_is_hedged(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 2, HEDGE_LEAST_US + 1);
    assert_true(look(&j));
    uint32_t k = SLOTS - 1;
    view_lane first = *hedges_of(j.hedges, k);
    assert_false(look(&j));
    wait_for(&j, 2, HEDGE_LEAST_US + 1);
    assert_true(look(&j));
    assert_false(view_same_lane(&first, hedges_of(j.hedges, k)));
    hedges_destroy(&j.hedges);
}

static void hedges_last_until_the_owner_is_first(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 2, HEDGE_LEAST_US + 1);
    assert_true(look(&j));
    int n = n_hedged(&j);
    hedges_step(j.hedges, j.now_us += MS);
    assert_int_equal(n_hedged(&j), n);
    assert_false(hedges_in_time(j.hedges, j.owners, &j.lanes[0].lane));
    assert_int_equal(n_hedged(&j), n);
    assert_true(hedges_in_time(j.hedges, j.owners, &j.lanes[3].lane));
    assert_int_equal(n_hedged(&j), 0);
    assert_false(hedges_in_time(j.hedges, j.owners, &j.lanes[3].lane));
    hedges_destroy(&j.hedges);
}

static void a_new_deal_ends_all(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 2, HEDGE_LEAST_US + 1);
    assert_true(look(&j));
    hedges_clear(j.hedges);
    assert_int_equal(n_hedged(&j), 0);
    assert_null(hedges_of(j.hedges, SLOTS));
    hedges_destroy(&j.hedges);
}

static void a_pause_is_nobodys_fault(void **state)
{
    (void)state;
    job j = job_make(10 * MS);
    wait_for(&j, 2, 60000 * MS);
    hedges_resume(j.hedges, j.now_us);
    assert_false(look(&j));
    hedges_destroy(&j.hedges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_slots_go_to_idle_lanes),
        cmocka_unit_test(slow_steps_make_patient),
        cmocka_unit_test(first_steps_are_given_time),
        cmocka_unit_test(a_lost_connection_is_late_at_once),
        cmocka_unit_test(nobody_is_idle_when_a_dead_worker_is_missed),
        cmocka_unit_test(who_is_alone_hedges_for_nobody),
        cmocka_unit_test(who_computes_does_not_hedge),
        cmocka_unit_test(who_hedges_and_stops_is_hedged),
        cmocka_unit_test(hedges_last_until_the_owner_is_first),
        cmocka_unit_test(a_new_deal_ends_all),
        cmocka_unit_test(a_pause_is_nobodys_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
