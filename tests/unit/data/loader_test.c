/*
 * The loader: what a batch holds, the ring's rules, many threads at once, errors, no allocation.
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
#include "data/augment.h"
#include "data/reader.h"
#include "unit/data/support_config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 103, BATCH = 8, H = 4, W = 4, PIXELS = H * W };

/* A dataset whose pixels tell their example; reading `broken`, and each that is `broken` of `of`, fails. It counts its
 * readings. */
typedef struct counting {
    dataset base;
    int64_t broken, of;
    atomic_int reads;
} counting;

static status count_read(const dataset *d, int64_t example, void *const *ret, error *err)
{
    counting *c = (counting *)(uintptr_t)d;
    atomic_fetch_add(&c->reads, 1);
    if (example == c->broken || (c->of && example % c->of == c->broken))
        return FAIL(err, E_DATA, "example %lld is broken", (long long)example);
    for (int i = 0; i < PIXELS; i++)
        ((float *)ret[0])[i] = (float)(example * PIXELS + i);
    *(int64_t *)ret[1] = example % 10;
    return OK;
}

static const reader_ops count_ops = {.read = count_read};

static void make_counting(counting *c)
{
    *c = (counting){
        .base = {.ops = &count_ops,
                 .examples = EXAMPLES,
                 .n_fields = 2,
                 .fields = {{.name = "image", .dtype = DT_F32, .rank = 3, .dim = {1, H, W}},
                            {.name = "label", .dtype = DT_I64, .classes = 10}}},
        .broken = -1,
    };
}

static loader *make_threads(const counting *c, size_t depth, const config *augmentation, int workers)
{
    loader *l = NULL;
    error err = ERROR_INIT;
    loader_options options = {.dataset = &c->base,
                              .batch_size = BATCH,
                              .seed = 11,
                              .shuffle = true,
                              .augment = augmentation,
                              .depth = depth,
                              .workers = workers};
    if (loader_create(&options, &l, &err) != OK)
        fail_msg("%s", err.text);
    return l;
}

static loader *make_loader(const counting *c, size_t depth, const config *augmentation)
{
    return make_threads(c, depth, augmentation, 1);
}

static step_slot slot_of(int64_t batch_id)
{
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    return steps_slot(&s, batch_id, 0);
}

static void check_batch(const data_batch *b, int64_t batch_id)
{
    step_slot slot = slot_of(batch_id);
    assert_int_equal(b->slot.batch_id, batch_id);
    for (int64_t i = 0; i < slot.n; i++) {
        int64_t example = permute_place(11, slot.epoch, EXAMPLES, slot.first + i);
        assert_int_equal(((const int64_t *)b->data[1])[i], example % 10);
        for (int k = 0; k < PIXELS; k++)
            assert_true(((const float *)b->data[0])[i * PIXELS + k] ==
                        (float)(example * PIXELS + k));
    }
}

static const data_batch *take(loader *l, int64_t batch_id)
{
    const data_batch *b = NULL;
    error err = ERROR_INIT;
    step_slot slot = slot_of(batch_id);
    if (loader_take(l, &slot, &b, &err) != OK)
        fail_msg("%s", err.text);
    return b;
}

static void prefetch(loader *l, int64_t batch_id)
{
    step_slot slot = slot_of(batch_id);
    loader_prefetch(l, &slot);
}

static void test_gives_the_same_asked_or_not(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    loader *l = make_loader(&c, 3, NULL);
    for (int64_t b = 0; b < 60; b++) { /* over epoch edges, with smaller last batches */
        if (b % 3)
            prefetch(l, b + 1);
        const data_batch *batch = take(l, b);
        assert_int_equal(batch->n_fields, 2);
        check_batch(batch, b);
        loader_release(l, batch);
    }
    const data_batch *again = take(l, 2); /* a replay goes back */
    check_batch(again, 2);
    loader_release(l, again);
    loader_destroy(&l);
    loader_destroy(&l);
}

static void test_prefetched_batches_are_made_once(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    loader *l = make_loader(&c, 4, NULL);
    for (int round = 0; round < 3; round++)
        for (int64_t b = 0; b < 4; b++)
            prefetch(l, b);
    prefetch(l, 9); /* the ring is full: dropped */
    const data_batch *batches[4];
    for (int64_t b = 0; b < 4; b++)
        check_batch(batches[b] = take(l, b), b);
    assert_int_equal(atomic_load(&c.reads), 4 * BATCH);
    for (int64_t b = 0; b < 4; b++)
        loader_release(l, batches[b]);
    loader_destroy(&l);
}

static void test_untaken_batches_make_room(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    loader *l = make_loader(&c, 2, NULL);
    prefetch(l, 0);
    prefetch(l, 1);
    const data_batch *b = take(l, 20); /* in place of batch 0 */
    loader_release(l, b);
    prefetch(l, 21);
    prefetch(l, 22); /* in place of batch 1 */
    int before;
    check_batch(b = take(l, 21), 21);
    loader_release(l, b);
    check_batch(b = take(l, 22), 22);
    before = atomic_load(&c.reads);
    assert_in_range(before, 3 * BATCH, 5 * BATCH);
    loader_release(l, b);
    loader_destroy(&l);
}

static void test_two_borrow_one_batch(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    loader *l = make_loader(&c, 2, NULL);
    const data_batch *a = take(l, 5), *b = take(l, 5);
    assert_ptr_equal(a, b);
    loader_release(l, a);
    const data_batch *other = take(l, 6);
    check_batch(b, 5);
    loader_release(l, b);
    loader_release(l, other);
    loader_destroy(&l);
}

static void test_errors_reach_the_taker(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    c.broken = permute_place(11, 0, EXAMPLES, 3);
    loader *l = make_loader(&c, 2, NULL);
    for (int round = 0; round < 3; round++) {
        if (round)
            prefetch(l, 0);
        error err = ERROR_INIT;
        const data_batch *b;
        step_slot slot = slot_of(0);
        assert_int_equal(loader_take(l, &slot, &b, &err), E_DATA);
        assert_non_null(strstr(err.text, "batch 0: example "));
        assert_non_null(strstr(err.text, " is broken"));
    }
    const data_batch *good = take(l, 1);
    check_batch(good, 1);
    loader_release(l, good);

    error err = ERROR_INIT;
    const data_batch *b;
    step_slot beyond = {.batch_id = 7, .first = 100, .n = 8};
    loader_prefetch(l, &beyond);
    assert_int_equal(loader_take(l, &beyond, &b, &err), E_DATA);
    assert_string_equal(err.text, "batch 7 takes places 100 to 107; there are 103 examples");
    loader_destroy(&l);
}

static void test_augments_by_batch_id(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    config *conf = test_config("{augment: {shift: 1, flip: true}}");
    const config *section = config_section(conf, "dataset_reader.augment");
    loader *l = make_loader(&c, 2, section);
    augment a = augment_read(section);
    for (int64_t id = 0; id < 30; id++) {
        step_slot slot = slot_of(id);
        prefetch(l, id);
        const data_batch *b = take(l, id);
        rng draws = rng_make(11, RNG_AUGMENT, (uint64_t)id);
        for (int64_t i = 0; i < slot.n; i++) {
            float raw[PIXELS], moved[PIXELS];
            int64_t label, example = permute_place(11, slot.epoch, EXAMPLES, slot.first + i);
            assert_int_equal(dataset_read(&c.base, example, (void *[]){raw, &label}, NULL), OK);
            augment_apply(&a, &draws, i, &c.base.fields[0], raw, moved);
            assert_memory_equal((const float *)b->data[0] + i * PIXELS, moved, sizeof moved);
            assert_int_equal(((const int64_t *)b->data[1])[i], label);
        }
        loader_release(l, b);
    }
    loader_destroy(&l);
    config_destroy(&conf);
}

typedef struct taker {
    loader *l;
    int64_t first;
    bool right;
} taker;

static void *take_many(void *arg)
{
    taker *t = arg;
    t->right = true;
    for (int64_t b = t->first; b < 400; b++) {
        step_slot slot = slot_of(b), next = slot_of(b + 3);
        const data_batch *batch;
        loader_prefetch(t->l, &next);
        if (loader_take(t->l, &slot, &batch, NULL) != OK) {
            t->right = false;
            break;
        }
        for (int64_t i = 0; i < slot.n; i++) {
            int64_t example = permute_place(11, slot.epoch, EXAMPLES, slot.first + i);
            if (((const float *)batch->data[0])[i * PIXELS] != (float)(example * PIXELS))
                t->right = false;
        }
        loader_release(t->l, batch);
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    loader *l = make_threads(&c, 5, NULL, 3);
    taker takers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        takers[i] = (taker){.l = l, .first = i / 2};
        assert_int_equal(thread_start(&threads[i], "taker", take_many, &takers[i], NULL), OK);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(takers[i].right);
    }
    loader_destroy(&l);
}

/* With this augmentation batches are alike, bit by bit, whoever reads them. */
static void expect_same_by_any(const char *augmentation)
{
    counting c;
    make_counting(&c);
    config *conf = test_config(augmentation);
    const config *section = config_section(conf, "dataset_reader.augment");
    for (int workers = 0; workers <= 8; workers++) {
        loader *alone = make_threads(&c, 2, section, 0), *l = make_threads(&c, 4, section, workers);
        size_t n_fields;
        const data_field *fields = loader_fields(l, &n_fields);
        for (int64_t id = 0; id < 30; id++) {
            size_t n = (size_t)slot_of(id).n;
            prefetch(l, id);
            prefetch(l, id + 1);
            prefetch(l, id + 2);
            const data_batch *b = take(l, id), *want = take(alone, id);
            for (size_t f = 0; f < n_fields; f++)
                assert_memory_equal(b->data[f], want->data[f], n * data_field_bytes(&fields[f]));
            loader_release(l, b);
            loader_release(alone, want);
        }
        loader_destroy(&l);
        loader_destroy(&alone);
    }
    config_destroy(&conf);
}

static void test_any_number_of_workers(void **state)
{
    (void)state;
    expect_same_by_any("{augment: {shift: 1, flip: true}}");
    expect_same_by_any("{augment: {flip: true, mixup: {alpha: 0.4}}}");
}

/* Reading an example ends when one of the other parity has begun. */
typedef struct meeting {
    dataset base;
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool is_there[2];
} meeting;

static status meet_read(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    meeting *m = (meeting *)(uintptr_t)d;
    int64_t half = example % 2;
    pthread_mutex_lock(&m->lock);
    m->is_there[half] = true;
    pthread_cond_broadcast(&m->came);
    while (!m->is_there[1 - half])
        pthread_cond_wait(&m->came, &m->lock);
    pthread_mutex_unlock(&m->lock);
    *(int64_t *)ret[0] = example;
    return OK;
}

/* One thread alone would wait for ever. */
static void test_a_batch_is_shared(void **state)
{
    (void)state;
    static const reader_ops meet_ops = {.read = meet_read};
    meeting m = {.base = {.ops = &meet_ops,
                          .examples = BATCH,
                          .n_fields = 1,
                          .fields = {{.name = "label", .dtype = DT_I64, .classes = BATCH}}}};
    const step_slot all = {.n = BATCH};
    const data_batch *batch = NULL;
    loader *l = NULL;
    pthread_mutex_init(&m.lock, NULL);
    pthread_cond_init(&m.came, NULL);
    loader_options options = {.dataset = &m.base, .batch_size = BATCH, .depth = 2, .workers = 3};
    assert_int_equal(loader_create(&options, &l, NULL), OK);
    loader_prefetch(l, &all);
    assert_int_equal(loader_take(l, &all, &batch, NULL), OK);
    for (int64_t i = 0; i < BATCH; i++)
        assert_int_equal(((const int64_t *)batch->data[0])[i], i);
    loader_release(l, batch);
    loader_destroy(&l);
    pthread_cond_destroy(&m.came);
    pthread_mutex_destroy(&m.lock);
}

/* Of several examples that fail, the first is named, however threads are scheduled. */
static void test_the_first_failure_counts(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    c.broken = 1;
    c.of = 3;
    for (int round = 0; round < 40; round++) {
        loader *l = make_threads(&c, 2, NULL, round % 5);
        error err = ERROR_INIT;
        const data_batch *b;
        step_slot slot = slot_of(round % 12);
        int64_t i = 0, example;
        do
            example = permute_place(11, slot.epoch, EXAMPLES, slot.first + i++);
        while (example % 3 != 1);
        char *want = xasprintf("batch %d: example %lld is broken", round % 12, (long long)example);
        prefetch(l, slot.batch_id);
        assert_int_equal(loader_take(l, &slot, &b, &err), E_DATA);
        assert_string_equal(err.text, want);
        free(want);
        loader_destroy(&l);
    }
}

static void test_stops_with_work_waiting(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    for (int round = 0; round < 50; round++) {
        loader *l = make_threads(&c, 8, NULL, round % 4);
        for (int64_t b = 0; b < 8; b++)
            prefetch(l, b);
        loader_destroy(&l);
    }
}

/* A batch has no more examples than there are, and its memory goes by that. */
static void test_a_batch_beyond_the_data(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    loader *l = NULL;
    const data_batch *batch = NULL;
    const step_slot all = {.n = EXAMPLES};
    loader_options options = {.dataset = &c.base, .batch_size = INT64_MAX, .seed = 11, .shuffle = true,
                              .depth = 2};
    assert_int_equal(loader_bytes(&options),
                     2 * EXAMPLES * (PIXELS * sizeof(float) + 2 * sizeof(int64_t)));
    c.base.reading = 1000; /* of each thread, and of the taker */
    options.workers = 3;
    assert_int_equal(loader_bytes(&options),
                     2 * EXAMPLES * (PIXELS * sizeof(float) + 2 * sizeof(int64_t)) + 4 * 1000);
    assert_int_equal(loader_create(&options, &l, NULL), OK);
    assert_int_equal(loader_take(l, &all, &batch, NULL), OK);
    assert_int_equal(batch->slot.n, EXAMPLES);
    loader_release(l, batch);
    loader_destroy(&l);
}

static void test_a_batch_beyond_memory(void **state)
{
    (void)state;
    counting c;
    make_counting(&c);
    c.base.examples = INT64_MAX;
    loader *l = NULL;
    error err = ERROR_INIT;
    loader_options options = {.dataset = &c.base, .batch_size = INT64_MAX, .depth = 2};
    assert_int_equal(loader_bytes(&options), SIZE_MAX);
    assert_int_equal(loader_create(&options, &l, &err), E_NOMEM);
    assert_null(l);
    assert_non_null(strstr(err.text, "9223372036854775807 examples"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_the_same_asked_or_not),
        cmocka_unit_test(test_prefetched_batches_are_made_once),
        cmocka_unit_test(test_untaken_batches_make_room),
        cmocka_unit_test(test_two_borrow_one_batch),
        cmocka_unit_test(test_errors_reach_the_taker),
        cmocka_unit_test(test_augments_by_batch_id),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_any_number_of_workers),
        cmocka_unit_test(test_a_batch_is_shared),
        cmocka_unit_test(test_the_first_failure_counts),
        cmocka_unit_test(test_stops_with_work_waiting),
        cmocka_unit_test(test_a_batch_beyond_the_data),
        cmocka_unit_test(test_a_batch_beyond_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
