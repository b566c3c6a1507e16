/* Batches of a dataset whose examples are of unlike length: what they hold, how long they are, and that any
 * thread, at any time, gets the same. And the loader over them.
 *
 * CTest labels: tsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/thread.h"
#include "data/batch_lengths.h"
#include "data/bucketing.h"
#include "data/reader.h"

#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 203, BATCH = 16, MOST = 50, BATCHES = (EXAMPLES + BATCH - 1) / BATCH, EPOCHS = 3 };

typedef struct varied {
    dataset base;
    uint32_t lengths[EXAMPLES];
} varied;

/* Token k of an example: its number * MOST + k + 1; 0 behind its end. */
static status read_varied(const dataset *d, int64_t example, void *const *ret, error *err)
{
    (void)err;
    for (int64_t k = 0; k < MOST; k++)
        ((int64_t *)ret[0])[k] = k < (int64_t)d->lengths[example] ? example * MOST + k + 1 : 0;
    *(int64_t *)ret[1] = example;
    return OK;
}

static const reader_ops ops = {.read = read_varied};

static void make_varied(varied *v)
{
    *v = (varied){
        .base = {.ops = &ops,
                 .examples = EXAMPLES,
                 .n_fields = 2,
                 .fields = {{.name = "ids", .dtype = DT_I64, .rank = 1, .dim = {MOST}, .varies = true},
                            {.name = "label", .dtype = DT_I64}}},
    };
    for (uint32_t i = 0; i < EXAMPLES; i++)
        v->lengths[i] = 1 + i * 37 % 47;
    v->base.lengths = v->lengths;
}

static bucketing *make_buckets(const varied *v, bool drop_last)
{
    bucketing *b = NULL;
    error err = ERROR_INIT;
    bucketing_options o = {.dataset = &v->base,
                           .batches = {.seed = 3,
                                       .batch_size = BATCH,
                                       .padding_noise = 0.1,
                                       .drop_last = drop_last,
                                       .shuffle = true},
                           .lengths = 4,
                           .multiple = 8};
    if (bucketing_create(&o, &b, &err) != OK)
        fail_msg("%s", err.text);
    return b;
}

static step_slot slot_of(int64_t batch_id)
{
    const steps s = {.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1};
    return steps_slot(&s, batch_id, 0);
}

static int64_t batch_of(bucketing *b, int64_t batch_id, int64_t *ret_examples)
{
    int64_t length = 0;
    step_slot slot = slot_of(batch_id);
    error err = ERROR_INIT;
    if (bucketing_batch(b, &slot, ret_examples, &length, &err) != OK)
        fail_msg("%s", err.text);
    return length;
}

static bool has_shape(const batch_shape *shapes, size_t n, int64_t examples, int64_t length)
{
    for (size_t i = 0; i < n; i++)
        if (shapes[i].examples == examples && shapes[i].length == length)
            return true;
    return false;
}

/* Every example once an epoch, in batches of shapes that were prepared, each as long as its longest. */
static void test_an_epoch(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    bucketing *b = make_buckets(&v, false);
    batch_shape shapes[BATCH_SHAPES];
    size_t n = bucketing_shapes(b, shapes);
    assert_int_equal(n, 5); /* four lengths, and the last batch */
    for (size_t i = 0; i < n; i++)
        assert_true(shapes[i].length <= shapes[0].length && shapes[i].examples <= shapes[0].examples);
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int seen[EXAMPLES] = {0};
        for (int64_t k = 0; k < BATCHES; k++) {
            int64_t id = epoch * BATCHES + k, examples[BATCH], length = batch_of(b, id, examples);
            step_slot slot = slot_of(id);
            assert_true(has_shape(shapes, n, slot.n, length));
            assert_int_equal(batch_of(b, id, NULL), length);
            for (int64_t i = 0; i < slot.n; i++) {
                assert_int_equal(seen[examples[i]]++, 0);
                assert_true(v.lengths[examples[i]] <= length);
            }
        }
        for (int i = 0; i < EXAMPLES; i++)
            assert_int_equal(seen[i], 1);
    }
    bucketing_destroy(&b);
    bucketing_destroy(&b);
}

/* The last prepared length is at most what the fields allow, and no shape is prepared that does not occur. */
static void test_shapes(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    v.lengths[7] = MOST; /* no multiple of 8 */
    batch_shape shapes[BATCH_SHAPES];
    bucketing *b = make_buckets(&v, true);
    assert_int_equal(bucketing_shapes(b, shapes), 4);
    assert_int_equal(shapes[0].length, MOST);
    bucketing_destroy(&b);
    for (int i = 0; i < EXAMPLES; i++)
        v.lengths[i] = 5;
    b = make_buckets(&v, true);
    assert_int_equal(bucketing_shapes(b, shapes), 1);
    assert_int_equal(shapes[0].examples, BATCH);
    assert_int_equal(shapes[0].length, 8);
    bucketing_destroy(&b);
}

/* One short example: no batch is ever as short as the length that is prepared for it, with noise or without. */
static void test_lengths_that_no_batch_has(void **state)
{
    (void)state;
    varied v;
    batch_shape shapes[BATCH_SHAPES];
    make_varied(&v);
    for (int i = 0; i < EXAMPLES; i++)
        v.lengths[i] = i == 7 ? 3 : i < BATCH * 2 ? 20 : 50;
    bucketing *b = make_buckets(&v, true);
    assert_int_equal(bucketing_shapes(b, shapes), 2);
    assert_int_equal(shapes[0].length, MOST);
    assert_int_equal(shapes[1].length, 24);
    bucketing_destroy(&b);

    /* without noise: the one of 3 is in the first of two batches of 20, whatever the epoch */
    const bucketing_options o = {.dataset = &v.base,
                                 .batches = {.seed = 3, .batch_size = BATCH, .shuffle = true},
                                 .lengths = 4,
                                 .multiple = 8};
    assert_int_equal(bucketing_create(&o, &b, NULL), OK);
    assert_int_equal(bucketing_shapes(b, shapes), 3); /* 16 of 50, 16 of 24, and the rest */
    assert_int_equal(shapes[1].length, 24);
    assert_int_equal(shapes[2].examples, EXAMPLES % BATCH);
    for (int64_t id = 0; id < BATCHES; id++) {
        int64_t length = batch_of(b, id, NULL);
        assert_true(has_shape(shapes, 3, slot_of(id).n, length));
    }
    bucketing_destroy(&b);

    /* in the order of the examples: the last batch alone is short */
    batch_lengths *in_order = NULL;
    batch_shape ordered[BATCH_LENGTHS_SHAPES];
    const batch_lengths_options a = {.dataset = &v.base, .batch_size = BATCH, .lengths = 4, .multiple = 8};
    for (int i = 0; i < EXAMPLES; i++)
        v.lengths[i] = i < BATCH ? 50 : i < EXAMPLES - EXAMPLES % BATCH ? 20 : 3;
    assert_int_equal(batch_lengths_make(&a, &in_order, NULL), OK);
    assert_int_equal(batch_lengths_shapes(in_order, ordered), 3);
    assert_int_equal(ordered[1].length, 24);
    assert_int_equal(ordered[2].length, 8);
    batch_lengths_destroy(&in_order);
}

/* --- max_tokens --- */

enum { TOKENS = 200 };

static bucketing *make_token_buckets(const varied *v, int64_t max_tokens, error *err)
{
    bucketing *b = NULL;
    bucketing_options o = {.dataset = &v->base,
                           .batches = {.seed = 3, .batch_size = BATCH, .shuffle = true},
                           .max_tokens = max_tokens,
                           .lengths = 4,
                           .multiple = 8};
    return bucketing_create(&o, &b, err) == OK ? b : NULL;
}

static steps steps_of(const bucketing *b)
{
    return (steps){.examples = EXAMPLES, .batch_size = BATCH, .per_step = 1, .kinds = bucketing_kinds(b), .seed = 3,
                   .shuffle = true};
}

/* Every example once an epoch, in batches that have as many as fit, and in other company each epoch. */
static void test_batches_of_so_many_tokens(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    bucketing *b = make_token_buckets(&v, TOKENS, NULL);
    batch_shape shapes[BATCH_SHAPES];
    size_t n = bucketing_shapes(b, shapes);
    steps s = steps_of(b);
    int64_t batches = steps_batches_per_epoch(&s), first[EPOCHS][BATCH], full = 0;
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int seen[EXAMPLES] = {0};
        for (int64_t k = 0; k < batches; k++) {
            int64_t examples[BATCH], length = 0;
            step_slot slot = steps_slot(&s, epoch * batches + k, 0);
            assert_int_equal(bucketing_batch(b, &slot, examples, &length, NULL), OK);
            assert_true(has_shape(shapes, n, slot.n, length));
            assert_true(slot.n <= BATCH && slot.n * length <= TOKENS);
            full += slot.n == BATCH || (slot.n + 1) * length > TOKENS;
            for (int64_t i = 0; i < slot.n; i++) {
                assert_int_equal(seen[examples[i]]++, 0);
                assert_true(v.lengths[examples[i]] <= length);
            }
            if (slot.first == 0)
                memcpy(first[epoch], examples, sizeof examples);
        }
        for (int i = 0; i < EXAMPLES; i++)
            assert_int_equal(seen[i], 1);
    }
    assert_true(full >= EPOCHS * (batches - (int64_t)s.kinds.n)); /* all but one of a kind */
    assert_memory_not_equal(first[0], first[1], sizeof first[0]);
    bucketing_destroy(&b);
}

static void test_an_example_of_too_many_tokens(void **state)
{
    (void)state;
    varied v;
    error err = ERROR_INIT;
    make_varied(&v);
    assert_null(make_token_buckets(&v, 47, &err));
    assert_non_null(strstr(err.text, "max_tokens: 47 is less than one example, which has 48 tokens"));
}

static void test_a_loader_of_so_many_tokens(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    bucketing *b = make_token_buckets(&v, TOKENS, NULL);
    loader_options o = {
        .dataset = &v.base, .batch_size = BATCH, .seed = 3, .shuffle = true, .buckets = b, .depth = 2};
    loader *l = NULL;
    steps s = steps_of(b);
    assert_int_equal(loader_create(&o, &l, NULL), OK);
    /* No batch of the longest 16, but one of them while it is cut. */
    assert_true(loader_bytes(&o) <= (2 * (TOKENS + 2 * BATCH) + 48) * sizeof(int64_t));
    for (int64_t id = 0; id < 2 * steps_batches_per_epoch(&s); id++) {
        int64_t examples[BATCH], length = 0;
        const data_batch *batch = NULL;
        step_slot slot = steps_slot(&s, id, 0);
        assert_int_equal(bucketing_batch(b, &slot, examples, &length, NULL), OK);
        assert_int_equal(loader_take(l, &slot, &batch, NULL), OK);
        assert_int_equal(batch->shape.length, length);
        const int64_t *ids = batch->data[0], *labels = batch->data[1];
        for (int64_t i = 0; i < slot.n; i++) {
            assert_int_equal(labels[i], examples[i]);
            assert_int_equal(ids[i * length], examples[i] * MOST + 1);
        }
        loader_release(l, batch);
    }
    loader_destroy(&l);
    bucketing_destroy(&b);
}

static void test_nothing_varies(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    v.base.lengths = NULL;
    bucketing *b = NULL;
    error err = ERROR_INIT;
    bucketing_options o = {.dataset = &v.base, .batches = {.batch_size = BATCH}, .lengths = 4, .multiple = 8};
    assert_int_equal(bucketing_create(&o, &b, &err), E_CONFIG);
    assert_null(b);
    assert_non_null(strstr(err.text, "the examples are all of one length"));
}

typedef struct asker {
    bucketing *b;
    const int64_t (*want)[BATCH];
    int64_t first;
    bool right;
} asker;

/* Back and forth over the epochs, so that their orders are made again and again. */
static void *ask(void *arg)
{
    asker *a = arg;
    a->right = true;
    for (int64_t k = 0; k < 500; k++) {
        int64_t id = (a->first + k * 17) % (EPOCHS * BATCHES), examples[BATCH], length;
        step_slot slot = slot_of(id);
        if (bucketing_batch(a->b, &slot, examples, &length, NULL) != OK ||
            memcmp(examples, a->want[id], (size_t)slot.n * sizeof *examples) != 0)
            a->right = false;
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    bucketing *b = make_buckets(&v, false);
    int64_t want[EPOCHS * BATCHES][BATCH];
    asker askers[4];
    pthread_t threads[4];
    for (int64_t id = 0; id < EPOCHS * BATCHES; id++)
        batch_of(b, id, want[id]);
    for (int i = 0; i < 4; i++) {
        askers[i] = (asker){.b = b, .want = (const int64_t(*)[BATCH])want, .first = i};
        assert_int_equal(thread_start(&threads[i], "asker", ask, &askers[i], NULL), OK);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(askers[i].right);
    }
    bucketing_destroy(&b);
}

/* --- the loader --- */

static void check_batch(const varied *v, const data_batch *batch, const int64_t *examples, int64_t length)
{
    assert_int_equal(batch->shape.examples, batch->slot.n);
    assert_int_equal(batch->shape.length, length);
    assert_int_equal(batch->fields[0].dim[0], length);
    const int64_t *ids = batch->data[0], *labels = batch->data[1];
    for (int64_t i = 0; i < batch->slot.n; i++) {
        assert_int_equal(labels[i], examples[i]);
        for (int64_t k = 0; k < length; k++)
            assert_int_equal(ids[i * length + k],
                             k < (int64_t)v->lengths[examples[i]] ? examples[i] * MOST + k + 1 : 0);
    }
}

static loader *make_loader(const loader_options *o)
{
    loader *l = NULL;
    error err = ERROR_INIT;
    if (loader_create(o, &l, &err) != OK)
        fail_msg("%s", err.text);
    return l;
}

static const data_batch *take(loader *l, int64_t id)
{
    const data_batch *batch = NULL;
    error err = ERROR_INIT;
    step_slot slot = slot_of(id), next = slot_of(id + 1);
    loader_prefetch(l, &next);
    if (loader_take(l, &slot, &batch, &err) != OK)
        fail_msg("%s", err.text);
    return batch;
}

static void test_a_loader_with_buckets(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    bucketing *b = make_buckets(&v, false);
    loader *l = make_loader(&(loader_options){
        .dataset = &v.base, .batch_size = BATCH, .seed = 3, .shuffle = true, .buckets = b, .depth = 3});
    for (int64_t id = 0; id < EPOCHS * BATCHES; id++) {
        int64_t examples[BATCH], length = batch_of(b, id, examples);
        const data_batch *batch = take(l, id);
        check_batch(&v, batch, examples, length);
        loader_release(l, batch);
    }
    loader_destroy(&l);
    bucketing_destroy(&b);
}

/* In their order, cut to a length, or as long as the fields say. */
static void test_a_loader_of_one_length(void **state)
{
    (void)state;
    varied v;
    make_varied(&v);
    for (int64_t length = 0; length <= 48; length += 48) {
        loader *l = make_loader(
            &(loader_options){.dataset = &v.base, .batch_size = BATCH, .length = length, .depth = 2});
        int64_t examples[BATCH];
        for (int64_t i = 0; i < BATCH; i++)
            examples[i] = BATCH + i;
        const data_batch *batch = take(l, 1);
        if (length)
            check_batch(&v, batch, examples, length);
        else
            assert_int_equal(batch->fields[0].dim[0], MOST);
        loader_release(l, batch);
        loader_destroy(&l);
    }
}

/* Examples in their order: each batch as its longest, rounded up to a length that its shape is told of. */
static void test_batches_in_order(void **state)
{
    (void)state;
    varied v;
    batch_lengths *b = NULL;
    batch_shape shapes[BATCH_LENGTHS_SHAPES];
    make_varied(&v);
    const batch_lengths_options o = {.dataset = &v.base, .batch_size = BATCH, .lengths = 3, .multiple = 8};
    assert_int_equal(batch_lengths_make(&o, &b, NULL), OK);
    size_t n = batch_lengths_shapes(b, shapes);
    assert_int_equal(shapes[n - 1].examples, EXAMPLES % BATCH);
    loader *l = make_loader(
        &(loader_options){.dataset = &v.base, .batch_size = BATCH, .lengths = b, .depth = 2});
    for (int64_t id = 0; id < BATCHES; id++) {
        int64_t examples[BATCH], longest = 0;
        const data_batch *batch = take(l, id);
        for (int64_t i = 0; i < batch->slot.n; i++) {
            examples[i] = batch->slot.first + i;
            longest = v.lengths[examples[i]] > longest ? v.lengths[examples[i]] : longest;
        }
        size_t k = 0;
        while (k < n && memcmp(&shapes[k], &batch->shape, sizeof *shapes) != 0)
            k++;
        assert_true(k < n && batch->shape.length >= longest);
        for (size_t other = 0; other < n; other++)
            assert_true(shapes[other].length < longest || shapes[other].length >= batch->shape.length);
        check_batch(&v, batch, examples, batch->shape.length);
        loader_release(l, batch);
    }
    loader_destroy(&l);
    batch_lengths_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_epoch),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_lengths_that_no_batch_has),
        cmocka_unit_test(test_batches_of_so_many_tokens),
        cmocka_unit_test(test_an_example_of_too_many_tokens),
        cmocka_unit_test(test_a_loader_of_so_many_tokens),
        cmocka_unit_test(test_nothing_varies),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_a_loader_with_buckets),
        cmocka_unit_test(test_a_loader_of_one_length),
        cmocka_unit_test(test_batches_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
