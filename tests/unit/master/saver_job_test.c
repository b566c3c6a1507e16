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
#include "unit/master/support_saver.h"

#include <stdlib.h>

enum { ORDERS = 16, TOTAL_MAX = 48, SECOND_US = 1000000 };

static bool is_planned(const plan *p, int64_t version)
{
    return version > p->begin &&
           (version == p->total || (p->epoch_ends && version % p->per_epoch == 0) ||
            (p->every_steps && version % p->every_steps == 0));
}

typedef struct told {
    bool open, frozen[SERVERS], sent[SERVERS];
    cut_order order;
} told;

typedef struct job {
    const accounts *accounts;
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
            shard_report r = accounts_shard(j->accounts, &t->order, s, SERVERS, 1);
            r.batches = 2 * t->order.version;
            int64_t step = -1;
            must(saver_take(j->saver, &r, &step, &err), &err);
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
        accounts b = accounts_make();
        job *j = xcalloc(1, sizeof *j);
        j->accounts = &b;
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
        accounts_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_cuts_are_in_time_and_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
