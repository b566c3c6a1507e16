/*
 * What lanes share: weights are there when their version is said to be, waits end, notes keep their order.
 *
 * CTest labels: tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/thread.h"
#include "unit/worker/support_flat.h"
#include "worker/lane.h"

#include <stdlib.h>

enum { LANES = 3, STEPS = 60, NOTES = 500, FROZEN_PART = 3 };

typedef struct bench {
    flat *flat;
    net_waker *waker;
    lane_shared shared;
} bench;

static bench bench_make(void)
{
    bench b = {.flat = support_flat()};
    assert_int_equal(b.flat->n_live_parts, FROZEN_PART);
    assert_int_equal(net_waker_create(&b.waker, NULL), OK);
    assert_int_equal(weights_host_create(b.flat, &b.shared.store, NULL), OK);
    b.shared.weights = weights_view_create(b.flat, b.shared.store);
    b.shared.notes = lane_notes_create(b.waker);
    return b;
}

static void bench_fini(bench *b)
{
    lane_notes_destroy(&b->shared.notes);
    lane_notes_destroy(&b->shared.notes);
    weights_view_destroy(&b->shared.weights);
    weights_view_destroy(&b->shared.weights);
    weight_store_destroy(&b->shared.store);
    net_waker_destroy(&b->waker);
    flat_destroy(&b->flat);
}

static loss_scale scale_of(int64_t version)
{
    return (loss_scale){.exponent = (uint8_t)(version % 7), .skipped = (uint32_t)version};
}

/* A part of this version: every weight says which. */
static void put(const bench *b, int32_t part, int64_t version)
{
    int64_t n = flat_part_elements(b->flat, part);
    float *data = xcalloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)version;
    span weights = span_for_call(data, (size_t)n * sizeof *data);
    kv_part p = {.part = part, .version = version, .scale = scale_of(version), .weights = &weights};
    assert_int_equal(weights_view_put(b->shared.weights, &p, NULL), OK);
    free(data);
}

static void versions_are_kept_by_part(void **state)
{
    (void)state;
    bench b = bench_make();
    atomic_bool cancel = false;
    assert_int_equal(weights_view_version(b.shared.weights, 1), -1);
    put(&b, 1, 5);
    put(&b, FROZEN_PART, 2);
    assert_int_equal(weights_view_version(b.shared.weights, 1), 5);
    assert_int_equal(weights_view_version(b.shared.weights, 2), -1);
    assert_true(weights_view_store(b.shared.weights)->values[b.flat->parts[1].begin] == 5.0f);
    int64_t edition;
    assert_int_equal(weights_view_wait(b.shared.weights, 1, 5, &cancel, &edition, NULL), OK);
    /* frozen parts serve every version */
    assert_int_equal(weights_view_wait(b.shared.weights, FROZEN_PART, 99, &cancel, &edition, NULL), OK);
    weights_view_drop(b.shared.weights, 1);
    assert_int_equal(weights_view_version(b.shared.weights, 1), -1);
    weights_view_forget(b.shared.weights);
    assert_int_equal(weights_view_version(b.shared.weights, FROZEN_PART), -1);
    bench_fini(&b);
}

/* What a device has a copy of: the same weights until the part is put again, be it as the same
 * version. */
static void every_put_is_another_edition(void **state)
{
    (void)state;
    bench b = bench_make();
    atomic_bool cancel = false;
    int64_t first, same, other;
    put(&b, 1, 5);
    assert_int_equal(weights_view_wait(b.shared.weights, 1, 5, &cancel, &first, NULL), OK);
    put(&b, 2, 5);
    assert_int_equal(weights_view_wait(b.shared.weights, 1, 5, &cancel, &same, NULL), OK);
    assert_int_equal(same, first);
    weights_view_forget(b.shared.weights);
    put(&b, 1, 5);
    assert_int_equal(weights_view_wait(b.shared.weights, 1, 5, &cancel, &other, NULL), OK);
    assert_int_not_equal(other, first);
    bench_fini(&b);
}

/* Known with the first live part of a version, and as long as there is one of it. */
static void a_version_has_its_scale(void **state)
{
    (void)state;
    bench b = bench_make();
    atomic_bool cancel = false, cancelled = true;
    loss_scale s;
    put(&b, FROZEN_PART, 5);
    assert_int_equal(weights_view_wait_scale(b.shared.weights, 5, &cancelled, &s, NULL), E_LOST);
    put(&b, 2, 5);
    assert_int_equal(weights_view_wait_scale(b.shared.weights, 5, &cancel, &s, NULL), OK);
    assert_true(loss_scale_equal(s, scale_of(5)));
    put(&b, 1, 6);
    assert_int_equal(weights_view_wait_scale(b.shared.weights, 5, &cancel, &s, NULL), OK);
    assert_true(loss_scale_equal(s, scale_of(5)));
    assert_int_equal(weights_view_wait_scale(b.shared.weights, 6, &cancel, &s, NULL), OK);
    assert_true(loss_scale_equal(s, scale_of(6)));
    weights_view_forget(b.shared.weights);
    assert_int_equal(weights_view_wait_scale(b.shared.weights, 6, &cancelled, &s, NULL), E_LOST);
    bench_fini(&b);
}

static void a_cancelled_wait_ends(void **state)
{
    (void)state;
    bench b = bench_make();
    error err = ERROR_INIT;
    atomic_bool cancel = true;
    int64_t edition;
    assert_int_equal(weights_view_wait(b.shared.weights, 0, 0, &cancel, &edition, &err), E_LOST);
    assert_string_equal(err.text, "cancelled");
    bench_fini(&b);
}

/* --- lanes that follow versions --- */

typedef struct reader {
    bench *bench;
    int32_t lane;
    atomic_bool *cancel;
    pthread_t thread;
    int64_t wrong;
    status end;
} reader;

/* Each step: every part is read, first and last weight, and then said to be done with. */
static void *follow(void *arg)
{
    reader *r = arg;
    const bench *b = r->bench;
    int64_t edition;
    for (int64_t t = 0;; t++)
        for (int32_t p = 0; p < b->flat->n_live_parts; p++) {
            r->end = weights_view_wait(b->shared.weights, p, t, r->cancel, &edition, NULL);
            if (r->end != OK)
                return NULL;
            const float *w = weights_view_store(b->shared.weights)->values;
            r->wrong += w[b->flat->parts[p].begin] != (float)t;
            r->wrong += w[b->flat->parts[p].end - 1] != (float)t;
            lane_notes_post(b->shared.notes,
                       &(note){.kind = NOTE_READY, .step = t, .lane = r->lane, .part = p});
        }
}

static void wait_for_notes(const bench *b, int64_t step, int n)
{
    note got;
    for (int seen = 0; seen < n;) {
        assert_int_equal(net_poll(NULL, 0, b->waker, 10000, NULL), OK);
        while (lane_notes_take(b->shared.notes, step, &got)) {
            assert_int_equal(got.step, step);
            seen++;
        }
    }
}

static void parts_are_overwritten_when_all_have_read_them(void **state)
{
    (void)state;
    bench b = bench_make();
    atomic_bool cancel = false;
    reader readers[LANES];
    for (int32_t i = 0; i < LANES; i++) {
        readers[i] = (reader){.bench = &b, .lane = i, .cancel = &cancel};
        assert_int_equal(thread_start(&readers[i].thread, "lane", follow, &readers[i], NULL), OK);
    }
    for (int64_t t = 0; t < STEPS; t++) {
        for (int32_t p = 0; p < b.flat->n_live_parts; p++)
            put(&b, p, t);
        wait_for_notes(&b, t, LANES * b.flat->n_live_parts);
    }
    atomic_store(&cancel, true);
    weights_view_wake(b.shared.weights);
    for (int32_t i = 0; i < LANES; i++) {
        pthread_join(readers[i].thread, NULL);
        assert_int_equal(readers[i].wrong, 0);
        assert_int_equal(readers[i].end, E_LOST);
    }
    bench_fini(&b);
}

/* --- notes --- */

static void notes_keep_their_order_by_step(void **state)
{
    (void)state;
    bench b = bench_make();
    note n;
    lane_notes_post(b.shared.notes, &(note){.step = 4, .slot = 0});
    lane_notes_post(b.shared.notes, &(note){.step = 5, .slot = 1}); /* a lane that is ahead */
    lane_notes_post(b.shared.notes, &(note){.step = 4, .slot = 2});
    assert_true(lane_notes_take(b.shared.notes, 4, &n));
    assert_int_equal(n.slot, 0);
    assert_true(lane_notes_take(b.shared.notes, 4, &n));
    assert_int_equal(n.slot, 2);
    assert_false(lane_notes_take(b.shared.notes, 4, &n));
    assert_false(lane_notes_take(b.shared.notes, 3, &n)); /* what is of step 5 waits */
    assert_true(lane_notes_take(b.shared.notes, 5, &n));
    assert_int_equal(n.slot, 1);
    lane_notes_post(b.shared.notes, &(note){.step = 6, .slot = 3});
    assert_false(lane_notes_take(b.shared.notes, 4, &n));
    assert_true(lane_notes_take(b.shared.notes, 8, &n)); /* an earlier step of that queue */
    assert_int_equal(n.slot, 3);
    bench_fini(&b);
}

static void *post_many(void *arg)
{
    reader *r = arg;
    for (uint32_t i = 0; i < NOTES; i++)
        lane_notes_post(r->bench->shared.notes, &(note){.step = 2 * (i / 100), .lane = r->lane, .slot = i});
    return NULL;
}

static void queues_grow_and_lose_nothing(void **state)
{
    (void)state;
    bench b = bench_make();
    reader posters[LANES];
    uint32_t next[LANES] = {0};
    for (int32_t i = 0; i < LANES; i++) {
        posters[i] = (reader){.bench = &b, .lane = i};
        assert_int_equal(thread_start(&posters[i].thread, "lane", post_many, &posters[i], NULL),
                         OK);
    }
    note n;
    for (int seen = 0; seen < LANES * NOTES;) {
        assert_int_equal(net_poll(NULL, 0, b.waker, 10000, NULL), OK);
        while (lane_notes_take(b.shared.notes, 1000, &n)) {
            assert_int_equal(n.slot, next[n.lane]++); /* each lane's own in order */
            seen++;
        }
    }
    for (int32_t i = 0; i < LANES; i++)
        pthread_join(posters[i].thread, NULL);
    bench_fini(&b);
}

static void the_first_failure_is_kept(void **state)
{
    (void)state;
    bench b = bench_make();
    error first = ERROR_INIT, second = ERROR_INIT, err = ERROR_INIT;
    error_set(&first, E_NONFINITE, "the loss is nan");
    error_set(&second, E_IO, "and the disk is full");
    assert_int_equal(lane_notes_failure(b.shared.notes, &err), OK);
    lane_notes_fail(b.shared.notes, E_NONFINITE, &first);
    lane_notes_fail(b.shared.notes, E_IO, &second);
    assert_int_equal(lane_notes_failure(b.shared.notes, &err), E_NONFINITE);
    assert_string_equal(err.text, "the loss is nan");
    bench_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_kept_by_part),
        cmocka_unit_test(every_put_is_another_edition),
        cmocka_unit_test(a_cancelled_wait_ends),
        cmocka_unit_test(a_version_has_its_scale),
        cmocka_unit_test(parts_are_overwritten_when_all_have_read_them),
        cmocka_unit_test(notes_keep_their_order_by_step),
        cmocka_unit_test(queues_grow_and_lose_nothing),
        cmocka_unit_test(the_first_failure_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
