/* The saver: which cuts it announces when, what becomes of late and hurried ones, the commit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "unit/master/support_saver.h"

#include <string.h>

enum { SECOND_US = 1000000 };

static int64_t commit(saver *s, const accounts *b, const cut_order *order, int32_t first)
{
    error err = ERROR_INIT;
    int64_t step = -1;
    for (int32_t i = 0; i < SERVERS; i++) {
        shard_report r = accounts_shard(b, order, (first + i) % SERVERS, SERVERS, 1);
        r.batches = 2 * order->version;
        assert_int_equal(step, -1);
        must(saver_take(s, &r, &step, &err), &err);
    }
    return step;
}

/* --- plans --- */

static void expect_orders(saver *s, int64_t reported, const int64_t *versions, size_t n)
{
    cut_order order;
    for (size_t i = 0; i < n; i++) {
        assert_true(saver_next_order(s, clock_us(), reported, &order));
        assert_int_equal(order.version, versions[i]);
    }
    assert_false(saver_next_order(s, clock_us(), reported, &order));
}

static void two_planned_cuts_are_announced_ahead(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 11, .every_steps = 4, .per_epoch = 6, .epoch_ends = true};
    saver *s = saver_of(&b, &p);
    cut_order order;
    assert_int_equal(saver_limit(s), 0);
    assert_int_equal(saver_last(s), 0);
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    assert_int_equal(order.version, 4);
    assert_string_equal(order.dir, "checkpoints/step-000000004.tmp.7");
    expect_orders(s, 0, (int64_t[]){6}, 1);
    assert_int_equal(saver_limit(s), 6);
    assert_false(saver_is_cutting(s, 3));
    assert_true(saver_is_cutting(s, 4));
    assert_int_equal(commit(s, &b, &order, 0), 4);
    assert_false(saver_is_cutting(s, 5));
    assert_true(saver_is_cutting(s, 6));
    assert_int_equal(saver_last(s), 4);
    assert_int_equal(saver_batches(s), 8);
    assert_true(accounts_has(&b, "checkpoints/step-000000004/manifest.json"));
    expect_orders(s, 4, (int64_t[]){8}, 1);
    assert_int_equal(saver_limit(s), 8);
    saver_destroy(&s);
    saver_destroy(&s);
    accounts_fini(&b);
}

/* Begun in the middle of an epoch, between two cuts. */
static void a_resumed_job_takes_up_the_plan(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.begin = 5, .total = 9, .every_steps = 4, .per_epoch = 6, .epoch_ends = true};
    saver *s = saver_of(&b, &p);
    assert_int_equal(saver_last(s), 5);
    assert_int_equal(saver_batches(s), 10);
    expect_orders(s, 5, (int64_t[]){6, 8}, 2);
    saver_destroy(&s);
    accounts_fini(&b);
}

static void the_last_step_is_cut_if_nothing_else_is(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 7, .per_epoch = 5};
    saver *s = saver_of(&b, &p);
    expect_orders(s, 0, (int64_t[]){7}, 1);
    assert_int_equal(saver_limit(s), 7);
    saver_destroy(&s);
    accounts_fini(&b);
}

/* --- the clock, and hurry --- */

static void the_clock_cuts_a_little_ahead(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 1000, .per_epoch = 1000, .every_s = 10};
    saver *s = saver_of(&b, &p);
    cut_order order;
    int64_t now = clock_us();
    assert_true(saver_next_order(s, now, 0, &order));
    assert_int_equal(order.version, 1000);
    assert_false(saver_next_order(s, now + 9 * SECOND_US, 20, &order));
    assert_false(saver_next_order(s, now + 11 * SECOND_US, 0, &order)); /* nothing new */
    assert_true(saver_next_order(s, now + 11 * SECOND_US, 20, &order));
    assert_int_equal(order.version, 24);
    assert_false(saver_next_order(s, now + 12 * SECOND_US, 21, &order));
    assert_int_equal(saver_limit(s), 1000);
    assert_int_equal(commit(s, &b, &order, 1), 24);
    assert_true(saver_next_order(s, now + 30 * SECOND_US, 40, &order));
    assert_int_equal(order.version, 44);
    assert_false(saver_next_order(s, now + 90 * SECOND_US, 997, &order)); /* the end is near */
    saver_destroy(&s);
    accounts_fini(&b);
}

static void a_server_that_is_past_gets_more_room(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 1000, .per_epoch = 1000, .every_s = 1};
    saver *s = saver_of(&b, &p);
    cut_order order, again;
    int64_t now = clock_us();
    assert_true(saver_next_order(s, now, 0, &order));
    assert_true(saver_next_order(s, now + 2 * SECOND_US, 20, &order));
    assert_int_equal(order.version, 24);
    assert_false(saver_late(s, order.id, 24, &again)); /* just in time */
    assert_false(saver_late(s, 99, 30, &again));       /* no such cut */

    error err = ERROR_INIT;
    int64_t step = -1;
    shard_report early =
        accounts_shard(&b, &order, 0, SERVERS, 1); /* by the server that is not late */
    early.batches = 48;
    must(saver_take(s, &early, &step, &err), &err);
    assert_true(saver_late(s, order.id, 30, &again));
    assert_int_equal(again.replaces, order.id);
    assert_int_equal(again.version, 38);
    assert_string_equal(again.dir, "checkpoints/step-000000038.tmp.7");
    assert_false(saver_late(s, order.id, 60, &again)); /* the other server's word about 24 */
    assert_true(saver_late(s, again.id, 60, &again));
    assert_int_equal(again.version, 76);

    /* the early shard does not count for the later cut */
    must(saver_take(s, &early, &step, &err), &err);
    assert_int_equal(step, -1);
    assert_int_equal(commit(s, &b, &again, 0), 76);
    saver_destroy(&s);
    accounts_fini(&b);
}

/* No two cuts of one version: a late one that would meet another is that other. */
static void late_cuts_fall_into_planned_ones(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 40, .per_epoch = 100, .every_s = 1};
    saver *s = saver_of(&b, &p);
    cut_order last, order, again;
    int64_t now = clock_us();
    assert_true(saver_next_order(s, now, 0, &last));
    assert_true(saver_next_order(s, now + 2 * SECOND_US, 25, &order));
    assert_int_equal(order.version, 29);
    assert_true(saver_late(s, order.id, 35, &again));
    assert_int_equal(again.id, last.id);
    assert_int_equal(again.replaces, order.id);
    assert_false(saver_late(s, order.id, 36, &again));
    assert_int_equal(commit(s, &b, &last, 0), 40);
    saver_destroy(&s);
    accounts_fini(&b);
}

static void a_hurried_cut_is_the_last(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 1000, .per_epoch = 1000, .every_steps = 100};
    saver *s = saver_of(&b, &p);
    cut_order order, again;
    expect_orders(s, 0, (int64_t[]){100, 200}, 2);
    assert_false(saver_is_hurried(s));
    saver_hurry(s);
    assert_true(saver_is_hurried(s));
    assert_true(saver_next_order(s, clock_us(), 17, &order));
    assert_int_equal(order.version, 21);
    assert_int_equal(saver_limit(s), 21);
    saver_hurry(s); /* once is enough */
    assert_false(saver_next_order(s, clock_us(), 17, &again));
    assert_true(saver_late(s, order.id, 25, &again));
    assert_int_equal(again.version, 33);
    assert_int_equal(saver_limit(s), 33);
    assert_int_equal(commit(s, &b, &again, 0), 33);
    assert_false(saver_next_order(s, clock_us(), 33, &order));
    saver_destroy(&s);
    accounts_fini(&b);
}

static void a_hurried_cut_may_be_one_announced_before(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 1000, .per_epoch = 1000, .every_steps = 5};
    saver *s = saver_of(&b, &p);
    cut_order order, first, second;
    assert_true(saver_next_order(s, clock_us(), 0, &first));
    assert_true(saver_next_order(s, clock_us(), 0, &second));
    assert_true(saver_is_planned(s, first.id) && saver_is_planned(s, second.id));
    saver_hurry(s);
    assert_false(saver_next_order(s, clock_us(), 8, &order)); /* 12 is beyond what workers may do */
    assert_int_equal(saver_limit(s), 10);
    assert_true(saver_is_hurried(s));
    assert_true(saver_is_planned(s, first.id));
    assert_false(saver_is_planned(s, second.id)); /* one further ahead would do as well */
    saver_destroy(&s);
    accounts_fini(&b);
}

static void a_hurried_cut_is_never_one_that_is_committed(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 1000, .per_epoch = 1000, .every_steps = 5};
    saver *s = saver_of(&b, &p);
    cut_order first, second, order;
    assert_true(saver_next_order(s, clock_us(), 0, &first));
    assert_true(saver_next_order(s, clock_us(), 0, &second));
    commit(s, &b, &first, 0);
    commit(s, &b, &second, 0);
    assert_int_equal(saver_last(s), 10);
    saver_hurry(s);
    assert_true(saver_next_order(s, clock_us(), 8, &order)); /* the reports lag behind */
    assert_int_equal(order.version, 14);
    saver_destroy(&s);
    accounts_fini(&b);
}

static void a_hurried_and_late_cut_falls_into_the_end(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 40, .per_epoch = 100};
    saver *s = saver_of(&b, &p);
    cut_order order, again;
    expect_orders(s, 0, (int64_t[]){40}, 1);
    saver_hurry(s);
    assert_true(saver_next_order(s, clock_us(), 20, &order));
    assert_true(saver_late(s, order.id, 39, &again));
    assert_int_equal(again.version, 40);
    assert_int_equal(saver_limit(s), 40);
    saver_destroy(&s);
    accounts_fini(&b);
}

/* What a server has not answered is said to it again; the next master says the same. */
static void open_cuts_are_told_by_server(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 40, .per_epoch = 100, .every_steps = 10};
    saver *s = saver_of(&b, &p), *next = saver_of(&b, &p);
    cut_order orders[2], seen, later;
    assert_true(saver_next_order(s, clock_us(), 0, &orders[0]));
    assert_true(saver_next_order(s, clock_us(), 0, &orders[1]));
    error err = ERROR_INIT;
    int64_t step = -1;
    shard_report first = accounts_shard(&b, &orders[0], 0, SERVERS, 1);
    must(saver_take(s, &first, &step, &err), &err);
    size_t at = 0;
    assert_true(saver_open_order(s, 0, &at, &seen));
    assert_int_equal(seen.id, orders[1].id);
    assert_false(saver_open_order(s, 0, &at, &seen));
    at = 0;
    assert_true(saver_open_order(s, 1, &at, &seen));
    assert_int_equal(seen.version, 10);
    assert_true(saver_open_order(s, 1, &at, &seen));
    assert_int_equal(seen.version, 20);
    assert_true(saver_next_order(next, clock_us(), 0, &later));
    assert_int_equal(later.id, orders[0].id);
    assert_string_equal(later.dir, orders[0].dir);
    saver_destroy(&next);
    saver_destroy(&s);
    accounts_fini(&b);
}

/* --- shards --- */

static void a_cut_is_committed_once(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 4, .per_epoch = 4};
    saver *s = saver_of(&b, &p);
    error err = ERROR_INIT;
    int64_t step = 0;
    cut_order order;
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    shard_report r = accounts_shard(&b, &order, 0, SERVERS, 1);
    r.batches = 8;
    for (int i = 0; i < 3; i++) { /* one server's word, thrice */
        must(saver_take(s, &r, &step, &err), &err);
        assert_int_equal(step, -1);
    }
    r = accounts_shard(&b, &order, 1, SERVERS, 1);
    r.batches = 8;
    must(saver_take(s, &r, &step, &err), &err);
    assert_int_equal(step, 4);
    must(saver_take(s, &r, &step, &err), &err);
    assert_int_equal(step, -1);
    json_t *m = accounts_json(&b, "checkpoints/step-000000004/manifest.json");
    assert_true(json_is_true(json_object_get(m, "final")));
    json_decref(m);
    saver_destroy(&s);
    accounts_fini(&b);
}

static void servers_must_agree(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 4, .per_epoch = 4};
    saver *s = saver_of(&b, &p);
    error err = ERROR_INIT;
    int64_t step = 0;
    cut_order order;
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    shard_report r = accounts_shard(&b, &order, 1, SERVERS, 1);
    r.batches = 8;
    must(saver_take(s, &r, &step, &err), &err);
    r = accounts_shard(&b, &order, 0, SERVERS, 1);
    r.batches = 6;
    assert_int_equal(saver_take(s, &r, &step, &err), E_FAIL);
    assert_string_equal(err.text, "checkpoint step 4: servers applied 8 and 6 batches");
    assert_int_equal(step, -1);
    assert_false(accounts_has(&b, "checkpoints/step-000000004"));
    saver_destroy(&s);
    accounts_fini(&b);
}

/* What a version's loss scale is the shards with live parts say. */
static void loss_scales_must_agree(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 4, .per_epoch = 4, .scales = true};
    for (uint32_t good = 3; good <= 4; good++) {
        saver *s = saver_of(&b, &p);
        error err = ERROR_INIT;
        int64_t step = 0;
        cut_order order;
        assert_true(saver_next_order(s, clock_us(), 0, &order));
        shard_report r = accounts_shard(&b, &order, 1, SERVERS, 1);
        r.batches = 8;
        r.scale = (loss_scale){16, 4, 1};
        must(saver_take(s, &r, &step, &err), &err);
        r = accounts_shard(&b, &order, 0, SERVERS, 1);
        r.batches = 8;
        r.scale = (loss_scale){16, good, 1};
        assert_int_equal(saver_take(s, &r, &step, &err), good == 4 ? OK : E_FAIL);
        assert_string_equal(err.text, good == 4 ? ""
                                                : "checkpoint step 4: servers have different loss "
                                                  "scales");
        saver_destroy(&s);
    }
    json_t *m = accounts_json(&b, "checkpoints/step-000000004/manifest.json");
    const json_t *scale = json_object_get(m, "loss_scale");
    assert_int_equal(json_integer_value(json_object_get(scale, "exponent")), 16);
    assert_int_equal(json_integer_value(json_object_get(scale, "good_steps")), 4);
    assert_int_equal(json_integer_value(json_object_get(scale, "skipped_steps")), 1);
    json_decref(m);
    accounts_fini(&b);
}

static void a_shard_that_is_not_there_is_named(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 4, .per_epoch = 4};
    saver *s = saver_of(&b, &p);
    error err = ERROR_INIT;
    int64_t step = 0;
    cut_order order;
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    shard_report r = accounts_shard(&b, &order, 0, SERVERS, 1);
    must(saver_take(s, &r, &step, &err), &err);
    r.shard = 1;
    r.file = "ps-1-of-2.safetensors";
    assert_int_not_equal(saver_take(s, &r, &step, &err), OK);
    assert_non_null(strstr(err.text, "checkpoint step 4: "));
    assert_non_null(strstr(err.text, "ps-1-of-2.safetensors"));
    saver_destroy(&s);
    accounts_fini(&b);
}

/* The plan goes on; what others still write of the cut is not heard of again, and its folder goes
 * with the next commit. */
static void a_cut_that_failed(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 12, .every_steps = 4, .per_epoch = 100};
    saver *s = saver_of(&b, &p);
    cut_order first, second;
    error err = ERROR_INIT;
    int64_t step = -1;
    assert_true(saver_next_order(s, clock_us(), 0, &first));
    assert_true(saver_next_order(s, clock_us(), 0, &second));
    shard_report r = accounts_shard(&b, &first, 0, SERVERS, 1);
    must(saver_take(s, &r, &step, &err), &err);
    assert_int_equal(saver_version(s, first.id + 1000), -1);
    assert_int_equal(saver_version(s, first.id), 4);
    saver_fail(s, first.id);
    assert_int_equal(saver_version(s, first.id), -1);
    r = accounts_shard(&b, &first, 1, SERVERS, 1);
    must(saver_take(s, &r, &step, &err), &err);
    assert_int_equal(step, -1);
    assert_int_equal(saver_last(s), 0);
    expect_orders(s, 4, (int64_t[]){12}, 1);
    assert_true(accounts_has(&b, "checkpoints/step-000000004.tmp.7"));
    assert_int_equal(commit(s, &b, &second, 0), 8);
    assert_int_equal(saver_last(s), 8);
    assert_false(accounts_has(&b, "checkpoints/step-000000004.tmp.7"));
    assert_false(accounts_has(&b, "checkpoints/step-000000004"));
    saver_destroy(&s);
    accounts_fini(&b);
}

static bool is_ordered(const saver *s, int32_t shard)
{
    size_t at = 0;
    cut_order order;
    return saver_open_order(s, shard, &at, &order);
}

/* It stays open with what is written of it, is ordered when that is tried again, and no clock cuts meanwhile. */
static void a_cut_that_must_be_waits_for_the_disk(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 100, .every_steps = 20, .per_epoch = 30, .epoch_ends = true, .every_s = 1e-6};
    saver *s = saver_of(&b, &p);
    cut_order first, second, any;
    assert_true(saver_next_order(s, clock_us(), 0, &first));
    assert_true(saver_next_order(s, clock_us(), 0, &second));
    assert_false(first.must);
    assert_int_equal(second.version, 30);
    assert_true(second.must && saver_must(s, 30) && saver_must(s, 100) && !saver_must(s, 20));
    assert_int_equal(commit(s, &b, &first, 0), 20);
    int64_t step = -1;
    error err = ERROR_INIT;
    shard_report r = accounts_shard(&b, &second, 0, SERVERS, 1);
    must(saver_take(s, &r, &step, &err), &err);
    saver_owe(s, second.id);
    assert_true(saver_owes(s));
    assert_false(is_ordered(s, 1));
    expect_orders(s, 22, (int64_t[]){40}, 1); /* planned ahead as ever, and none by the clock */
    saver_try_again(s);
    assert_true(is_ordered(s, 1));
    assert_true(saver_owes(s));
    r = accounts_shard(&b, &second, 1, SERVERS, 1);
    must(saver_take(s, &r, &step, &err), &err);
    assert_int_equal(step, 30);
    assert_false(saver_owes(s));
    assert_true(saver_next_order(s, clock_us() + 1000000, 31, &any));
    saver_destroy(&s);
    accounts_fini(&b);
}

/* The master before announced a cut by the clock, and nobody knows of that any more. */
static void what_a_dead_master_began_goes(void **state)
{
    (void)state;
    accounts b = accounts_make();
    plan p = {.total = 12, .every_steps = 4, .per_epoch = 100};
    saver *s = saver_of(&b, &p);
    cut_order first;
    assert_true(saver_next_order(s, clock_us(), 0, &first));
    accounts_write(&b, "checkpoints/step-000000003.tmp.7/ps-0-of-2.safetensors", "begun");
    accounts_write(&b, "checkpoints/step-000000005.tmp.7/ps-0-of-2.safetensors", "being written");
    assert_int_equal(commit(s, &b, &first, 0), 4);
    assert_false(accounts_has(&b, "checkpoints/step-000000003.tmp.7"));
    assert_true(accounts_has(&b, "checkpoints/step-000000005.tmp.7"));
    saver_destroy(&s);
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_planned_cuts_are_announced_ahead),
        cmocka_unit_test(a_resumed_job_takes_up_the_plan),
        cmocka_unit_test(the_last_step_is_cut_if_nothing_else_is),
        cmocka_unit_test(the_clock_cuts_a_little_ahead),
        cmocka_unit_test(a_server_that_is_past_gets_more_room),
        cmocka_unit_test(late_cuts_fall_into_planned_ones),
        cmocka_unit_test(a_hurried_cut_is_the_last),
        cmocka_unit_test(a_hurried_cut_may_be_one_announced_before),
        cmocka_unit_test(a_hurried_cut_is_never_one_that_is_committed),
        cmocka_unit_test(a_hurried_and_late_cut_falls_into_the_end),
        cmocka_unit_test(open_cuts_are_told_by_server),
        cmocka_unit_test(a_cut_is_committed_once),
        cmocka_unit_test(servers_must_agree),
        cmocka_unit_test(loss_scales_must_agree),
        cmocka_unit_test(a_shard_that_is_not_there_is_named),
        cmocka_unit_test(a_cut_that_failed),
        cmocka_unit_test(a_cut_that_must_be_waits_for_the_disk),
        cmocka_unit_test(what_a_dead_master_began_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
