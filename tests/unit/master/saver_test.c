/*
 * The saver against a simulated job: versions move up to its limit, servers freeze what they were
 * told of in time, shards come in any order and any time later. Planned cuts are never late and
 * each is committed once, however the job runs; the others are, or fall into a planned one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "master/saver.h"
#include "unit/master/support_books.h"

#include <stdlib.h>
#include <string.h>

enum { SERVERS = 2, ORDERS = 16, TOTAL_MAX = 48, SECOND_US = 1000000 };

static const char *const no_digest =
    "0000000000000000000000000000000000000000000000000000000000000000";

typedef struct plan {
    int64_t begin, total, every_steps, per_epoch;
    bool epoch_ends;
    double every_s;
} plan;

static saver *saver_of(const books *b, const plan *p)
{
    return saver_create(&(saver_options){
        .dir = b->dir,
        .flat = b->flat,
        .steps = {.examples = 2 * p->per_epoch, .batch_size = 1, .per_step = 2},
        .begin = p->begin,
        .total = p->total,
        .epoch_ends = p->epoch_ends,
        .every_steps = p->every_steps,
        .every_s = p->every_s,
        .n_servers = SERVERS,
        .era = 7,
        .config_digest = no_digest,
    });
}

static bool is_planned(const plan *p, int64_t version)
{
    return version > p->begin &&
           (version == p->total || (p->epoch_ends && version % p->per_epoch == 0) ||
            (p->every_steps && version % p->every_steps == 0));
}

static int64_t commit(saver *s, const books *b, const cut_order *order, int32_t first)
{
    error err = ERROR_INIT;
    int64_t step = -1;
    for (int32_t i = 0; i < SERVERS; i++) {
        shard_report r = books_shard(b, order, (first + i) % SERVERS, SERVERS, 1);
        r.batches = 2 * order->version;
        assert_int_equal(step, -1);
        must(saver_shard(s, &r, -1, &step, &err), &err);
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
    books b = books_make();
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
    assert_int_equal(commit(s, &b, &order, 0), 4);
    assert_int_equal(saver_last(s), 4);
    assert_int_equal(saver_batches(s), 8);
    assert_true(books_has(&b, "checkpoints/step-000000004/manifest.json"));
    expect_orders(s, 4, (int64_t[]){8}, 1);
    assert_int_equal(saver_limit(s), 8);
    saver_destroy(&s);
    saver_destroy(&s);
    books_fini(&b);
}

/* Begun in the middle of an epoch, between two cuts. */
static void a_resumed_job_takes_up_the_plan(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.begin = 5, .total = 9, .every_steps = 4, .per_epoch = 6, .epoch_ends = true};
    saver *s = saver_of(&b, &p);
    assert_int_equal(saver_last(s), 5);
    assert_int_equal(saver_batches(s), 10);
    expect_orders(s, 5, (int64_t[]){6, 8}, 2);
    saver_destroy(&s);
    books_fini(&b);
}

static void the_last_step_is_cut_if_nothing_else_is(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 7, .per_epoch = 5};
    saver *s = saver_of(&b, &p);
    expect_orders(s, 0, (int64_t[]){7}, 1);
    assert_int_equal(saver_limit(s), 7);
    saver_destroy(&s);
    books_fini(&b);
}

/* --- the clock, and hurry --- */

static void the_clock_cuts_a_little_ahead(void **state)
{
    (void)state;
    books b = books_make();
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
    books_fini(&b);
}

static void a_server_that_is_past_gets_more_room(void **state)
{
    (void)state;
    books b = books_make();
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
        books_shard(&b, &order, 0, SERVERS, 1); /* by the server that is not late */
    early.batches = 48;
    must(saver_shard(s, &early, -1, &step, &err), &err);
    assert_true(saver_late(s, order.id, 30, &again));
    assert_int_equal(again.id, order.id);
    assert_int_equal(again.version, 38);
    assert_string_equal(again.dir, "checkpoints/step-000000038.tmp.7");
    assert_true(saver_late(s, order.id, 60, &again));
    assert_int_equal(again.version, 76);
    assert_false(saver_late(s, order.id, 76, &again)); /* the other server's word about 38 */

    /* the early shard does not count for the later cut */
    must(saver_shard(s, &early, -1, &step, &err), &err);
    assert_int_equal(step, -1);
    assert_int_equal(commit(s, &b, &again, 0), 76);
    saver_destroy(&s);
    books_fini(&b);
}

/* No two cuts of one version: a late one that would meet another is that other. */
static void late_cuts_fall_into_planned_ones(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 40, .per_epoch = 100, .every_s = 1};
    saver *s = saver_of(&b, &p);
    cut_order last, order, again;
    int64_t now = clock_us();
    assert_true(saver_next_order(s, now, 0, &last));
    assert_true(saver_next_order(s, now + 2 * SECOND_US, 25, &order));
    assert_int_equal(order.version, 29);
    assert_false(saver_late(s, order.id, 35, &again));
    assert_false(saver_late(s, order.id, 36, &again));
    assert_int_equal(commit(s, &b, &last, 0), 40);
    saver_destroy(&s);
    books_fini(&b);
}

static void a_hurried_cut_is_the_last(void **state)
{
    (void)state;
    books b = books_make();
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
    books_fini(&b);
}

static void a_hurried_cut_may_be_one_announced_before(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 1000, .per_epoch = 1000, .every_steps = 5};
    saver *s = saver_of(&b, &p);
    cut_order order;
    expect_orders(s, 0, (int64_t[]){5, 10}, 2);
    saver_hurry(s);
    assert_false(saver_next_order(s, clock_us(), 8, &order)); /* 12 is beyond what workers may do */
    assert_int_equal(saver_limit(s), 10);
    assert_true(saver_is_hurried(s));
    saver_destroy(&s);
    books_fini(&b);
}

static void a_hurried_and_late_cut_falls_into_the_end(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 40, .per_epoch = 100};
    saver *s = saver_of(&b, &p);
    cut_order order, again;
    expect_orders(s, 0, (int64_t[]){40}, 1);
    saver_hurry(s);
    assert_true(saver_next_order(s, clock_us(), 20, &order));
    assert_false(saver_late(s, order.id, 39, &again));
    assert_int_equal(saver_limit(s), 40);
    saver_destroy(&s);
    books_fini(&b);
}

/* --- shards --- */

static void a_cut_is_committed_once(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 4, .per_epoch = 4};
    saver *s = saver_of(&b, &p);
    error err = ERROR_INIT;
    int64_t step = 0;
    cut_order order;
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    shard_report r = books_shard(&b, &order, 0, SERVERS, 1);
    r.batches = 8;
    for (int i = 0; i < 3; i++) { /* one server's word, thrice */
        must(saver_shard(s, &r, -1, &step, &err), &err);
        assert_int_equal(step, -1);
    }
    r = books_shard(&b, &order, 1, SERVERS, 1);
    r.batches = 8;
    must(saver_shard(s, &r, -1, &step, &err), &err);
    assert_int_equal(step, 4);
    must(saver_shard(s, &r, -1, &step, &err), &err);
    assert_int_equal(step, -1);
    json_t *m = books_json(&b, "checkpoints/step-000000004/manifest.json");
    assert_true(json_is_true(json_object_get(m, "final")));
    json_decref(m);
    saver_destroy(&s);
    books_fini(&b);
}

static void servers_must_agree(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 4, .per_epoch = 4};
    saver *s = saver_of(&b, &p);
    error err = ERROR_INIT;
    int64_t step = 0;
    cut_order order;
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    shard_report r = books_shard(&b, &order, 1, SERVERS, 1);
    r.batches = 8;
    must(saver_shard(s, &r, -1, &step, &err), &err);
    r = books_shard(&b, &order, 0, SERVERS, 1);
    r.batches = 6;
    assert_int_equal(saver_shard(s, &r, -1, &step, &err), E_FAIL);
    assert_string_equal(err.text, "checkpoint step 4: servers applied 8 and 6 batches");
    assert_int_equal(step, -1);
    assert_false(books_has(&b, "checkpoints/step-000000004"));
    saver_destroy(&s);
    books_fini(&b);
}

static void a_shard_that_is_not_there_is_named(void **state)
{
    (void)state;
    books b = books_make();
    plan p = {.total = 4, .per_epoch = 4};
    saver *s = saver_of(&b, &p);
    error err = ERROR_INIT;
    int64_t step = 0;
    cut_order order;
    assert_true(saver_next_order(s, clock_us(), 0, &order));
    shard_report r = books_shard(&b, &order, 0, SERVERS, 1);
    must(saver_shard(s, &r, -1, &step, &err), &err);
    r.server = 1;
    r.file = "ps-1-of-2.safetensors";
    assert_int_not_equal(saver_shard(s, &r, -1, &step, &err), OK);
    assert_non_null(strstr(err.text, "checkpoint step 4: "));
    assert_non_null(strstr(err.text, "ps-1-of-2.safetensors"));
    saver_destroy(&s);
    books_fini(&b);
}

/* --- the simulated job --- */

typedef struct told {
    bool open, frozen[SERVERS], sent[SERVERS];
    cut_order order;
} told;

typedef struct job {
    const books *books;
    plan plan;
    saver *saver;
    rng rng;
    uint64_t draws;
    int64_t now, version, reported; /* newest on all servers; what the master knows */
    told told[ORDERS];
    int committed[TOTAL_MAX + 1];
    int64_t stop; /* the hurried cut's version, once it is committed */
} job;

static uint64_t draw(job *j, uint64_t n)
{
    return rng_below(&j->rng, j->draws++, n);
}

static told *told_of(job *j, uint32_t id)
{
    told *free_one = NULL;
    for (int i = 0; i < ORDERS; i++) {
        if (j->told[i].open && j->told[i].order.id == id)
            return &j->told[i];
        if (!j->told[i].open)
            free_one = &j->told[i];
    }
    assert_non_null(free_one);
    return free_one;
}

static void check_open(const job *j)
{
    int planned = 0;
    for (int i = 0; i < ORDERS; i++) {
        if (!j->told[i].open)
            continue;
        planned += is_planned(&j->plan, j->told[i].order.version);
        for (int k = 0; k < i; k++)
            assert_false(j->told[k].open && j->told[k].order.version == j->told[i].order.version);
    }
    /* a cut by the clock may happen to lie on a planned version */
    assert_true(planned <= 2 + (j->plan.every_s > 0));
}

/* Servers hear of a cut; what they are past of is announced again until it is not. */
static void announce(job *j, cut_order order, bool first)
{
    for (;;) {
        told *t = told_of(j, order.id);
        *t = (told){.open = true, .order = order};
        check_open(j);
        if (order.version >= j->version)
            return;
        if (first && is_planned(&j->plan, order.version) && j->plan.every_s <= 0 &&
            !saver_is_hurried(j->saver))
            fail_msg("planned cut %lld is late at %lld", (long long)order.version,
                     (long long)j->version);
        cut_order again;
        if (!saver_late(j->saver, order.id, j->version, &again)) {
            t->open = false; /* it fell into another */
            return;
        }
        order = again;
        first = false;
    }
}

/* A server writes in the order of the versions. */
static bool writes_before(const job *j, int32_t server, int64_t version)
{
    for (int i = 0; i < ORDERS; i++)
        if (j->told[i].open && j->told[i].frozen[server] && !j->told[i].sent[server] &&
            j->told[i].order.version < version)
            return true;
    return false;
}

static void freeze_and_write(job *j)
{
    error err = ERROR_INIT;
    for (int i = 0; i < ORDERS; i++) {
        told *t = &j->told[i];
        for (int32_t s = 0; t->open && s < SERVERS; s++) {
            t->frozen[s] |= j->version == t->order.version;
            if (!t->frozen[s] || t->sent[s] || writes_before(j, s, t->order.version) || draw(j, 3))
                continue;
            t->sent[s] = true;
            shard_report r = books_shard(j->books, &t->order, s, SERVERS, 1);
            r.batches = 2 * t->order.version;
            int64_t step = -1;
            must(saver_shard(j->saver, &r, -1, &step, &err), &err);
            if (step < 0)
                continue;
            assert_int_equal(step, t->order.version);
            j->committed[step]++;
            t->open = false;
            if (saver_is_hurried(j->saver) && step == saver_limit(j->saver))
                j->stop = step;
        }
    }
}

static void run_job(job *j, bool hurry)
{
    int64_t hurry_at = hurry ? (int64_t)draw(j, (uint64_t)j->plan.total) : -1;
    for (int turn = 0; !j->stop && saver_last(j->saver) < j->plan.total; turn++) {
        assert_true(turn < 5000);
        j->now += (int64_t)draw(j, 2 * SECOND_US);
        cut_order order;
        while (saver_next_order(j->saver, j->now, j->reported, &order))
            announce(j, order, true);
        if (j->version < saver_limit(j->saver) && draw(j, 3))
            j->version++;
        freeze_and_write(j);
        j->reported += (int64_t)draw(j, (uint64_t)(j->version - j->reported) + 1);
        if (hurry_at >= 0 && j->version >= hurry_at) {
            hurry_at = -1;
            saver_hurry(j->saver);
        }
    }
}

static plan random_plan(rng *r)
{
    plan p = {.total = 5 + (int64_t)rng_below(r, 0, TOTAL_MAX - 4),
              .per_epoch = 1 + (int64_t)rng_below(r, 1, 20),
              .epoch_ends = rng_below(r, 2, 2),
              .every_steps = (int64_t)rng_below(r, 3, 3) * (1 + (int64_t)rng_below(r, 4, 9)),
              .every_s = rng_below(r, 5, 2) ? 3 : 0};
    p.begin = rng_below(r, 6, 2) ? (int64_t)rng_below(r, 7, (uint64_t)p.total) : 0;
    return p;
}

static void planned_cuts_are_in_time_and_once(void **state)
{
    (void)state;
    for (uint64_t c = 0; c < 16; c++) {
        books b = books_make();
        job *j = xcalloc(1, sizeof *j);
        j->books = &b;
        j->rng = rng_make(17, RNG_TEST, c);
        j->plan = random_plan(&j->rng);
        j->draws = 100;
        j->saver = saver_of(&b, &j->plan);
        j->version = j->reported = j->plan.begin;
        j->now = clock_us();
        run_job(j, c % 3 == 2);
        int64_t end = j->stop ? j->stop : j->plan.total;
        for (int64_t v = 0; v <= j->plan.total; v++) {
            assert_true(j->committed[v] <= 1);
            if (is_planned(&j->plan, v) && v <= end && !saver_is_hurried(j->saver))
                assert_int_equal(j->committed[v], 1);
        }
        assert_int_equal(j->committed[end], 1);
        assert_int_equal(saver_last(j->saver), end);
        assert_int_equal(saver_batches(j->saver), 2 * end);
        saver_destroy(&j->saver);
        free(j);
        books_fini(&b);
    }
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
        cmocka_unit_test(a_hurried_and_late_cut_falls_into_the_end),
        cmocka_unit_test(a_cut_is_committed_once),
        cmocka_unit_test(servers_must_agree),
        cmocka_unit_test(a_shard_that_is_not_there_is_named),
        cmocka_unit_test(planned_cuts_are_in_time_and_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
