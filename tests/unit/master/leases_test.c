#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "master/lanes/leases.h"

enum { S = 1000000, NOW = 0 };

static const view_lane lanes[] = {
    {.worker = 0, .lane = 0}, {.worker = 0, .lane = 1}, {.worker = 1, .lane = 0}};

static leases *begin(int64_t clock, int64_t staleness, size_t n_lanes)
{
    leases *l = leases_create(
        &(leases_options){.schedule = {.staleness = staleness}, .batches_per_step = clock});
    batch_set none = BATCH_SET_INIT;
    leases_begin(l, &none);
    leases_lanes(l, lanes, n_lanes);
    return l;
}

/* What is said now, as "worker.lane:batch/floor ..." */
static void assert_said(leases *l, int64_t limit, int64_t now_us, const char *expected)
{
    buf text = BUF_INIT;
    lease one;
    buf_adds(&text, "");
    while (leases_next(l, limit, now_us, &one))
        buf_addf(&text, "%s%u.%u:%lld/%lld", text.size ? " " : "", one.lane.worker, one.lane.lane,
                 (long long)one.batch, (long long)one.floor);
    assert_string_equal(text.data ? text.data : "", expected);
    buf_fini(&text);
}

static void test_ascending_two_each(void **state)
{
    (void)state;
    leases *l = begin(3, -1, 3);
    assert_said(l, 100, 0, "0.0:0/0 0.0:3/0 0.1:1/0 0.1:4/0 1.0:2/0 1.0:5/0");
    assert_true(leases_report(l, 4, NOW));
    assert_false(leases_report(l, 4, NOW));
    assert_false(leases_report(l, 77, NOW));
    assert_false(leases_report(l, -1, NOW));
    assert_said(l, 100, 0, "0.1:6/0");
    assert_int_equal(leases_floor(l), 0);
    assert_true(leases_report(l, 0, NOW));
    assert_true(leases_report(l, 1, NOW));
    assert_int_equal(leases_floor(l), 2);
    assert_said(l, 100, 0, "0.0:7/0 0.1:8/0");
    leases_destroy(&l);
}

static void test_start_rule(void **state)
{
    (void)state;
    leases *l = begin(3, 1, 1);
    int64_t floors[] = {0, 0, 0, 0, 0, 0, 3, 3, 3, 6, 6};
    for (int64_t b = 0; b < (int64_t)COUNT_OF(floors); b++) {
        lease one;
        assert_true(leases_next(l, b + 1, 0, &one));
        assert_int_equal(one.batch, b);
        assert_int_equal(one.floor, floors[b]);
        assert_true(leases_report(l, b, NOW));
    }
    leases_destroy(&l);
}

static void test_limit(void **state)
{
    (void)state;
    leases *l = begin(1, 0, 1);
    assert_said(l, 0, 0, "");
    assert_said(l, 1, 0, "0.0:0/0");
    assert_true(leases_report(l, 0, NOW));
    assert_said(l, 1, 0, "");
    assert_said(l, 2, 0, "0.0:1/1");
    leases_destroy(&l);
}

/* Lost batches go before new ones, to lanes that are full too. */
static void test_lost(void **state)
{
    (void)state;
    lease one;
    leases *l = begin(3, -1, 3);
    assert_said(l, 100, 0, "0.0:0/0 0.0:3/0 0.1:1/0 0.1:4/0 1.0:2/0 1.0:5/0");
    assert_true(leases_lowest(l, &one));
    assert_int_equal(one.batch, 0);
    leases_lanes(l, &lanes[2], 1);
    assert_said(l, 100, 0, "1.0:0/0 1.0:1/0 1.0:3/0 1.0:4/0");
    assert_true(leases_report(l, 5, NOW));
    assert_said(l, 100, 0, "");
    /* the one thought lost was not, and is back */
    assert_true(leases_report(l, 3, NOW));
    leases_lanes(l, lanes, 3);
    assert_said(l, 100, 0, "0.0:6/0 0.0:8/0 0.1:7/0 0.1:9/0");
    leases_lost(l, false, 1);
    assert_true(leases_report(l, 1, NOW));
    assert_said(l, 100, 0, "0.0:4/0 1.0:0/0 1.0:2/0");
    leases_destroy(&l);
}

static void test_nobody_left(void **state)
{
    (void)state;
    lease one;
    leases *l = begin(1, 0, 1);
    assert_said(l, 100, 0, "0.0:0/0 0.0:1/1");
    leases_lanes(l, NULL, 0);
    assert_said(l, 100, 0, "");
    assert_false(leases_lowest(l, &one));
    leases_lanes(l, lanes, 1);
    assert_said(l, 100, 0, "0.0:0/0 0.0:1/1");
    leases_destroy(&l);
}

static void test_said_again(void **state)
{
    (void)state;
    leases *l = begin(1, -1, 1);
    static const int64_t when[] = {0, 1, 3, 7, 15, 23, 31};
    for (size_t i = 0; i < COUNT_OF(when); i++) {
        assert_said(l, 1, when[i] * S, "0.0:0/0");
        assert_said(l, 1, when[i] * S + S - 1, "");
    }
    leases_repeat(l, false, 1);
    assert_said(l, 1, 32 * S, "");
    leases_repeat(l, false, 0);
    assert_said(l, 1, 32 * S, "0.0:0/0");
    leases_destroy(&l);
}

/* After recovery only what is missing somewhere goes out. */
static void test_recovery(void **state)
{
    (void)state;
    leases *l = begin(2, 1, 3);
    batch_set applied = BATCH_SET_INIT;
    batch_set_fill(&applied, 3);
    batch_set_add(&applied, 4);
    batch_set_add(&applied, 7);
    assert_said(l, 4, 0, "0.0:0/0 0.0:3/0 0.1:1/0 1.0:2/0");
    leases_begin(l, &applied);
    assert_false(leases_report(l, 4, NOW));
    assert_said(l, 10, 0, "0.0:3/0 0.0:8/6 0.1:5/2 0.1:9/6 1.0:6/4");
    batch_set_fini(&applied);
    leases_destroy(&l);
}

/* A worker that lives, but does not reach a server: others take over what all wait for. */
static void test_hedged(void **state)
{
    (void)state;
    leases *l = begin(1, 0, 3);
    assert_said(l, 3, 1 * S, "0.0:0/0 0.1:1/1 1.0:2/2");
    assert_true(leases_report(l, 1, 2 * S));
    assert_true(leases_report(l, 2, 3 * S)); /* two seconds: the slowest of late */
    leases_hedge(l, 4 * S, 2 * S);
    assert_said(l, 3, 4 * S, "0.0:0/0"); /* to the one who has it, who may not have heard */
    leases_hedge(l, 6 * S, 2 * S);
    assert_said(l, 3, 6 * S, "0.0:0/0 1.0:0/0");
    leases_hedge(l, 60 * S, 2 * S);
    assert_said(l, 3, 6 * S, ""); /* once */
    assert_true(leases_report(l, 0, 7 * S));
    assert_false(leases_report(l, 0, 7 * S));
    assert_said(l, 3, 60 * S, "");
    leases_destroy(&l);
}

/* Whatever is lost and found, every batch is reported once, in the end all are. */
static void test_at_random(void **state)
{
    (void)state;
    enum { TOTAL = 400 };
    for (uint64_t seed = 0; seed < 30; seed++) {
        leases *l = begin(4, 1, 3);
        rng r = rng_make(seed, RNG_TEST, 5);
        int64_t said[TOTAL * 9];
        size_t n = 0;
        int reported[TOTAL] = {0};
        for (uint64_t i = 0; leases_floor(l) < TOTAL; i++) {
            assert_true(i < 100000);
            lease one;
            int64_t now = (int64_t)i + 1;
            while (n < COUNT_OF(said) && leases_next(l, TOTAL, now, &one))
                said[n++] = one.batch;
            uint32_t draw = rng_u32(&r, 2 * i), what = draw % 16;
            if (what == 0)
                leases_lanes(l, lanes, draw / 16 % 4);
            else if (what == 1)
                leases_lost(l, false, draw / 16 % 2);
            else if (what == 2)
                leases_lanes(l, lanes, 3);
            else if (what == 3)
                leases_hedge(l, now, 5);
            else if (n) {
                size_t at = (size_t)rng_below(&r, 2 * i + 1, n);
                reported[said[at]] += leases_report(l, said[at], now);
                said[at] = said[--n];
            }
        }
        for (int b = 0; b < TOTAL; b++)
            assert_int_equal(reported[b], 1);
        leases_destroy(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ascending_two_each),
        cmocka_unit_test(test_start_rule),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_nobody_left),
        cmocka_unit_test(test_said_again),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_hedged),
        cmocka_unit_test(test_at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
