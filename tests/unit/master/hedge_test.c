/* Hedges: late slots go to idle lanes of other workers, once each, until their owner is in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "master/lanes/hedge.h"
#include "master/lanes/model.h"

enum { LANES = 4, SLOTS = 6, MS = 1000 };

/* Worker 0 has two lanes, 1 and 2 have one. */
typedef struct job {
    open_step open;
    hedges hedges;
    int64_t now_us;
    view_lane owners[SLOTS];
    hedge_lane lanes[LANES];
    const double *slot_s; /* [LANES]; NULL: nothing is known of them */
} job;

static const steps six_slots = {.examples = 1000000, .batch_size = 1, .per_step = SLOTS};

static void bring(job *j, uint32_t k, int64_t turn_us)
{
    open_step_take(&j->open, k, (double)turn_us * 1e-6);
}

static void pass_step(job *j, int64_t step_us)
{
    for (uint32_t k = 0; k < SLOTS; k++)
        bring(j, k, step_us);
    j->now_us += step_us;
    open_step_next(&j->open, j->now_us);
    hedges_step(&j->hedges, j->now_us);
}

static job job_make(int64_t step_us, int n_steps)
{
    job j = {.lanes = {{.lane = {.worker = 0}},
                       {.lane = {.worker = 0, .lane = 1}},
                       {.lane = {.worker = 1}},
                       {.lane = {.worker = 2}}}};
    for (int k = 0; k < SLOTS; k++)
        j.owners[k] = j.lanes[k * LANES / SLOTS].lane;
    open_step_init(&j.open, &six_slots, 0, 0);
    hedges_init(&j.hedges, SLOTS);
    for (int i = 0; i < n_steps; i++)
        pass_step(&j, step_us);
    return j;
}

static void job_fini(job *j)
{
    open_step_fini(&j->open);
    hedges_fini(&j->hedges);
}

static bool look(job *j)
{
    model m = model_make(NULL, j->lanes, LANES);
    for (size_t i = 0; j->slot_s && i < LANES; i++)
        m.slot_s[i] = j->slot_s[i];
    hedge_scene s = {j->owners, &j->open, j->lanes, LANES, m.workers, m.n, 7};
    bool any = hedges_look(&j->hedges, &s, j->now_us);
    model_fini(&m);
    return any;
}

/* All slots but those of one worker are on the servers, after turns of turn_us. */
static void wait_for(job *j, uint32_t worker, int64_t turn_us, int64_t us)
{
    for (uint32_t k = 0; k < SLOTS; k++)
        if (j->owners[k].worker != worker)
            bring(j, k, turn_us);
    j->now_us += us;
}

static void forget_all(job *j)
{
    open_step_begin(&j->open, j->open.step, true, j->open.since_us);
}

static int n_hedged(const job *j)
{
    int n = 0;
    for (uint32_t k = 0; k < SLOTS; k++)
        n += hedges_of(&j->hedges, k) != NULL;
    return n;
}

static void late_slots_go_to_idle_lanes(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    wait_for(&j, 2, 10 * MS, LATE_LEAST_US);
    assert_false(look(&j));
    j.now_us++;
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++) {
        const view_lane *by = hedges_of(&j.hedges, k);
        assert_int_equal(by != NULL, j.owners[k].worker == 2);
        assert_true(!by || (by->worker != 2 && j.hedges.at[k].view == 7));
        assert_true(!by || hedges_any_by(&j.hedges, by));
    }
    assert_false(hedges_any_by(&j.hedges, &j.lanes[3].lane));
    assert_false(look(&j)); /* once is enough */
    job_fini(&j);
}

/* Worker 1 is far quicker than both lanes of worker 0. */
static void quick_lanes_hedge_more(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    j.slot_s = (double[LANES]){1, 1, 0.1, 1};
    wait_for(&j, 2, 10 * MS, LATE_LEAST_US + 1);
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++)
        assert_true(!hedges_of(&j.hedges, k) || hedges_of(&j.hedges, k)->worker == 1);
    assert_true(n_hedged(&j) > 0);
    job_fini(&j);
}

/* What steps take makes patient, and what those who are done would have taken for all of it. */
static void who_waits_is_patient_as_steps_are_long(void **state)
{
    (void)state;
    job j = job_make(400 * MS, 20);
    pass_step(&j, 9000 * MS); /* one long step is no measure */
    wait_for(&j, 2, 5000 * MS, LATE_TIMES * 400 * MS);
    assert_false(look(&j));
    j.now_us++;
    assert_true(look(&j));
    job_fini(&j);
    /* steps have always waited for the late one, whose slots take the others no time */
    j = job_make(4000 * MS, 20);
    wait_for(&j, 2, 200 * MS, LATE_TIMES * 200 * MS * SLOTS / (SLOTS - 2));
    uint32_t late = 0;
    for (int k = 0; k < SLOTS; k++)
        late += j.owners[k].worker == 2;
    assert_int_equal(j.open.n_in, SLOTS - late);
    int64_t timeout_us = open_step_patience_us(&j.open);
    assert_true(timeout_us <= LATE_TIMES * 200 * MS * SLOTS / (SLOTS - late) && timeout_us < 1000 * MS);
    job_fini(&j);
}

static void the_first_step_is_given_time(void **state)
{
    (void)state;
    job j = job_make(0, 0);
    wait_for(&j, 2, 10 * MS, LATE_FIRST_US);
    assert_false(look(&j));
    j.now_us++;
    assert_true(look(&j));
    job_fini(&j);
    j = job_make(10 * MS, 1);
    wait_for(&j, 2, 10 * MS, LATE_LEAST_US + 1);
    assert_true(look(&j));
    job_fini(&j);
}

static void a_lost_connection_is_late_at_once(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    wait_for(&j, 1, 10 * MS, 1);
    assert_false(look(&j));
    j.lanes[2].suspect = true;
    assert_true(look(&j));
    job_fini(&j);
}

/* Nobody has brought anything yet: the lost one's slots go to all others. */
static void nobody_is_idle_when_a_worker_is_lost(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    j.lanes[3].suspect = true;
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++) {
        const view_lane *by = hedges_of(&j.hedges, k);
        assert_int_equal(by != NULL, j.owners[k].worker == 2);
        assert_true(!by || by->worker != 2);
    }
    assert_false(look(&j));
    job_fini(&j);
}

static void who_is_alone_hedges_for_nobody(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    for (int i = 0; i < LANES; i++)
        j.lanes[i].suspect = true;
    assert_false(look(&j));
    assert_int_equal(n_hedged(&j), 0);
    job_fini(&j);
}

static void who_is_not_done_does_not_hedge(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    j.now_us += LATE_LEAST_US + 1;
    assert_false(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++) /* one lane of worker 0 is done, the other is not */
        if (j.owners[k].worker == 0 && j.owners[k].lane == 0)
            bring(&j, k, 10 * MS);
    assert_false(look(&j));
    forget_all(&j);
    wait_for(&j, 0, 10 * MS, 0);
    forget_all(&j);
    for (uint32_t k = 0; k < SLOTS; k++)
        if (j.owners[k].worker == 1)
            bring(&j, k, 10 * MS);
    assert_true(look(&j));
    for (uint32_t k = 0; k < SLOTS; k++)
        assert_true(!hedges_of(&j.hedges, k) || hedges_of(&j.hedges, k)->worker == 1);
    job_fini(&j);
}

static void who_hedges_and_stops_is_hedged(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    wait_for(&j, 2, 10 * MS, LATE_LEAST_US + 1);
    assert_true(look(&j));
    uint32_t k = SLOTS - 1;
    view_lane first = *hedges_of(&j.hedges, k);
    assert_false(look(&j));
    j.now_us += LATE_LEAST_US + 1;
    assert_true(look(&j));
    assert_false(view_same_worker(&first, hedges_of(&j.hedges, k)));
    job_fini(&j);
}

static void hedges_last_until_the_owner_is_first(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    wait_for(&j, 2, 10 * MS, LATE_LEAST_US + 1);
    assert_true(look(&j));
    int n = n_hedged(&j);
    pass_step(&j, MS);
    assert_int_equal(n_hedged(&j), n);
    assert_false(hedges_in_time(&j.hedges, j.owners, &j.lanes[0].lane));
    assert_int_equal(n_hedged(&j), n);
    assert_true(hedges_in_time(&j.hedges, j.owners, &j.lanes[3].lane));
    assert_int_equal(n_hedged(&j), 0);
    assert_false(hedges_in_time(&j.hedges, j.owners, &j.lanes[3].lane));
    job_fini(&j);
}

static void a_new_deal_ends_all(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    wait_for(&j, 2, 10 * MS, LATE_LEAST_US + 1);
    assert_true(look(&j));
    hedges_clear(&j.hedges);
    assert_int_equal(n_hedged(&j), 0);
    assert_null(hedges_of(&j.hedges, SLOTS));
    job_fini(&j);
}

static void a_pause_is_nobodys_fault(void **state)
{
    (void)state;
    job j = job_make(10 * MS, 20);
    wait_for(&j, 2, 10 * MS, 60000 * MS);
    open_step_pause(&j.open, j.now_us);
    hedges_step(&j.hedges, j.now_us);
    assert_false(look(&j));
    job_fini(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_slots_go_to_idle_lanes),
        cmocka_unit_test(quick_lanes_hedge_more),
        cmocka_unit_test(who_waits_is_patient_as_steps_are_long),
        cmocka_unit_test(the_first_step_is_given_time),
        cmocka_unit_test(a_lost_connection_is_late_at_once),
        cmocka_unit_test(nobody_is_idle_when_a_worker_is_lost),
        cmocka_unit_test(who_is_alone_hedges_for_nobody),
        cmocka_unit_test(who_is_not_done_does_not_hedge),
        cmocka_unit_test(who_hedges_and_stops_is_hedged),
        cmocka_unit_test(hedges_last_until_the_owner_is_first),
        cmocka_unit_test(a_new_deal_ends_all),
        cmocka_unit_test(a_pause_is_nobodys_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
