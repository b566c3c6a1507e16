/* Batches of about equal length: properties that hold for every seed, epoch and size, and what padding
 * they save. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/parts/permute.h"
#include "data/bucket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 700 };

/* Like texts: many short, few long. */
static void draw_lengths(uint64_t seed, uint32_t *ret, int64_t n)
{
    rng draws = rng_make(seed, RNG_TEST, 0);
    for (int64_t i = 0; i < n; i++) {
        float u = rng_uniform(&draws, (uint64_t)i);
        ret[i] = 1 + (uint32_t)(u * u * u * (float)MOST);
    }
}

static void make(const bucket_options *o, int64_t epoch, const uint32_t *lengths, int64_t n, bucket_epoch *ret)
{
    error err = ERROR_INIT;
    if (bucket_epoch_make(o, epoch, lengths, n, ret, &err) != OK)
        fail_msg("%s", err.text);
}

static uint64_t padded_tokens(const bucket_epoch *e, const uint32_t *lengths)
{
    uint64_t all = 0;
    for (int64_t b = 0; b < e->n_batches; b++) {
        int64_t first, n = bucket_batch(e, b, &first);
        all += (uint64_t)bucket_longest(e, lengths, b) * (uint64_t)n;
    }
    return all;
}

/* Every example once; batches follow each other and are as large as they should be. */
static void check(const bucket_options *o, const bucket_epoch *e, int64_t n)
{
    char *seen = xcalloc((size_t)n, 1);
    int64_t place = 0;
    for (int64_t b = 0; b < e->n_batches; b++) {
        int64_t first, size = bucket_batch(e, b, &first);
        assert_int_equal(first, place);
        assert_true(size >= 1);
        assert_true(size == o->batch_size || (b == e->n_batches - 1 && size == n % o->batch_size));
        place += size;
    }
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(seen[e->order[i]]++, 0);
    bool may_drop = o->drop_last && n >= o->batch_size;
    assert_int_equal(place, may_drop ? n / o->batch_size * o->batch_size : n);
    free(seen);
}

static void test_each_example_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 1000};
    uint32_t lengths[1000];
    for (unsigned bits = 0; bits < 4; bits++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++)
            for (int64_t epoch = 0; epoch < 3; epoch++) {
                bucket_options o = {.seed = bits + s, .batch_size = 32, .padding_noise = 0.1,
                                    .drop_last = bits & 1, .shuffle = bits & 2};
                bucket_epoch e, again;
                draw_lengths(s, lengths, sizes[s]);
                make(&o, epoch, lengths, sizes[s], &e);
                check(&o, &e, sizes[s]);
                make(&o, epoch, lengths, sizes[s], &again);
                assert_int_equal(again.n_batches, e.n_batches);
                assert_memory_equal(again.order, e.order, (size_t)e.n * sizeof *e.order);
                bucket_epoch_free(&again);
                bucket_epoch_free(&e);
            }
}

static bool same_order(const bucket_options *a, int64_t epoch_a, const bucket_options *b, int64_t epoch_b)
{
    uint32_t lengths[1000];
    bucket_epoch x, y;
    draw_lengths(1, lengths, 1000);
    make(a, epoch_a, lengths, 1000, &x);
    make(b, epoch_b, lengths, 1000, &y);
    bool same = memcmp(x.order, y.order, 1000 * sizeof *x.order) == 0;
    bucket_epoch_free(&x);
    bucket_epoch_free(&y);
    return same;
}

static void test_epochs_and_seeds_differ(void **state)
{
    (void)state;
    bucket_options o = {.seed = 1, .batch_size = 32, .padding_noise = 0.1, .shuffle = true}, other = o,
                   still = o;
    other.seed = 2;
    still.shuffle = false;
    assert_false(same_order(&o, 0, &o, 1));
    assert_false(same_order(&o, 0, &other, 0));
    assert_true(same_order(&still, 0, &still, 1)); /* nothing is drawn */
}

/* Without noise and shuffling it is a stable sort. */
static void test_sorted_without_noise(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {5, 3, 5, 1, 3, 9};
    static const uint32_t want[] = {3, 1, 4, 0, 2, 5};
    bucket_epoch e;
    make(&(bucket_options){.batch_size = 4, .padding_noise = 0.5}, 0, lengths, 6, &e);
    assert_memory_equal(e.order, want, sizeof want);
    assert_int_equal(e.n_batches, 2);
    assert_int_equal(bucket_longest(&e, lengths, 0), 5);
    assert_int_equal(bucket_longest(&e, lengths, 1), 9);
    bucket_epoch_free(&e);
}

/* Noise mixes neighbours and costs little; the order of the data would pad nearly everything to the longest. */
/* By counting, or, where an example is longer than there are examples, by comparing: the same order. */
static void test_both_sorts_agree(void **state)
{
    (void)state;
    enum { N = 900 };
    uint32_t lengths[N + 1];
    bucket_epoch counted, compared;
    draw_lengths(3, lengths, N);
    lengths[N] = 1000 * 1000;
    make(&(bucket_options){.batch_size = 7}, 0, lengths, N, &counted);
    make(&(bucket_options){.batch_size = 7}, 0, lengths, N + 1, &compared);
    assert_memory_equal(counted.order, compared.order, N * sizeof *counted.order);
    assert_int_equal(compared.order[N], N);
    for (int64_t i = 1; i < N; i++) {
        uint32_t a = counted.order[i - 1], b = counted.order[i];
        assert_true(lengths[a] < lengths[b] || (lengths[a] == lengths[b] && a < b));
    }
    bucket_epoch_free(&counted);
    bucket_epoch_free(&compared);
}

/* --- against the plain way to do it: all keys in a list, which is sorted, and then batches in another order --- */

typedef struct plain_key {
    double length;
    uint32_t example;
} plain_key;

static int by_length(const void *a, const void *b)
{
    const plain_key *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return (x->example > y->example) - (x->example < y->example);
}

static uint32_t *plain_order(const bucket_options *o, int64_t epoch, const uint32_t *lengths, int64_t n)
{
    rng draws = rng_make(o->seed, RNG_BUCKET, (uint64_t)epoch);
    plain_key *keys = xcalloc((size_t)n, sizeof *keys);
    uint32_t *order = xcalloc((size_t)n, sizeof *order);
    int64_t whole = n / o->batch_size;
    for (int64_t i = 0; i < n; i++) {
        double u = (double)rng_uniform(&draws, (uint64_t)i) * 2.0 - 1.0;
        double noise = o->shuffle ? o->padding_noise : 0.0;
        keys[i] = (plain_key){(double)lengths[i] * (1.0 + noise * u), (uint32_t)i};
    }
    qsort(keys, (size_t)n, sizeof *keys, by_length);
    for (int64_t i = 0; i < n; i++) {
        int64_t batch = i / o->batch_size, from = batch;
        if (o->shuffle && batch < whole)
            from = permute_place(o->seed, epoch, whole, batch);
        order[i] = keys[from * o->batch_size + i % o->batch_size].example;
    }
    free(keys);
    return order;
}

static void check_order(const bucket_options *o, const uint32_t *lengths, int64_t n)
{
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        bucket_epoch e;
        uint32_t *want = plain_order(o, epoch, lengths, n);
        make(o, epoch, lengths, n, &e);
        assert_memory_equal(e.order, want, (size_t)n * sizeof *want);
        bucket_epoch_free(&e);
        free(want);
    }
}

static void test_the_order_is_that_of_sorted_keys(void **state)
{
    (void)state;
    enum { N = 6000 };
    static const double noises[] = {0.0, 1e-12, 0.1, 1.0};
    static const int64_t sizes[] = {1, 2, 33, 257, N};
    uint32_t lengths[N];
    for (int kind = 0; kind < 4; kind++) {
        draw_lengths(9, lengths, N);
        for (int64_t i = 0; i < N && kind > 0; i++)
            lengths[i] = kind == 1 ? 17 : kind == 2 ? (i % 2 ? 10 : 500) : (uint32_t)(i % 5 ? 3 : 4000000000u - i);
        for (size_t x = 0; x < COUNT_OF(noises); x++)
            for (size_t s = 0; s < COUNT_OF(sizes); s++)
                check_order(&(bucket_options){.seed = 5, .batch_size = 1 + 31 * (int64_t)(s % 2),
                                              .padding_noise = noises[x], .shuffle = x || s % 2},
                            lengths, sizes[s]);
    }
}

/* --- what it takes --- */

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static size_t memory(const char *key)
{
    char line[256];
    size_t kb = 0, length = strlen(key);
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, length) == 0)
            kb = strtoull(line + length, NULL, 10);
    if (f)
        fclose(f);
    return kb * 1024;
}

/* In a process of its own, whose memory was never larger. */
static size_t most_taken(const bucket_options *o, const uint32_t *lengths, int64_t n)
{
    int ends[2];
    size_t most = 0;
    bucket_epoch e;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        size_t before = memory("VmRSS:");
        make(o, 0, lengths, n, &e);
        most = memory("VmHWM:") - before;
        _exit(write(ends[1], &most, sizeof most) != (ssize_t)sizeof most);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &most, sizeof most), sizeof most);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return most;
}

static void test_an_order_is_made_in_its_place(void **state)
{
    (void)state;
    enum { N = 1 << 20, SLACK = 1 << 20 };
    uint32_t *lengths = xcalloc(N, sizeof *lengths);
    draw_lengths(4, lengths, N);
    for (int i = 0; i < 2; i++) {
        size_t most = most_taken(&(bucket_options){.batch_size = 32, .padding_noise = i * 0.1, .shuffle = true},
                                 lengths, N);
        print_message("noise %g: %.2f bytes an example\n", i * 0.1, (double)most / N);
        assert_true(most >= 4 * N && most <= 4 * N + SLACK);
    }
    free(lengths);
}
#endif

static void test_it_saves_padding(void **state)
{
    (void)state;
    enum { N = 10000 };
    uint32_t *lengths = xmalloc(N * sizeof *lengths);
    uint64_t tokens = 0;
    draw_lengths(5, lengths, N);
    for (int i = 0; i < N; i++)
        tokens += lengths[i];
    for (double noise = 0.0; noise < 0.25; noise += 0.1) {
        bucket_epoch e;
        make(&(bucket_options){.batch_size = 32, .padding_noise = noise, .shuffle = true}, 0, lengths, N, &e);
        uint64_t padded = padded_tokens(&e, lengths);
        assert_true(padded >= tokens && (double)padded < (1.05 + 1.5 * noise) * (double)tokens);
        bucket_epoch_free(&e);
    }
    free(lengths);
}

static uint64_t cost_of(const uint32_t *prepared, int n, const uint32_t *lengths, int64_t examples)
{
    uint64_t all = 0;
    for (int64_t i = 0; i < examples; i++)
        all += bucket_padded(prepared, n, lengths[i]);
    return all;
}

/* Against every choice there is. */
static void test_prepared_lengths_are_the_best(void **state)
{
    (void)state;
    enum { N = 200, WIDE = 12 };
    uint32_t lengths[N], prepared[BUCKET_PREPARED];
    for (uint64_t seed = 0; seed < 20; seed++) {
        draw_lengths(seed, lengths, N);
        for (int i = 0; i < N; i++)
            lengths[i] = 1 + lengths[i] * WIDE * 8 / (MOST + 1);
        for (int most = 1; most <= 4; most++) {
            int n = 0;
            assert_int_equal(bucket_prepare(lengths, N, 8, most, prepared, &n, NULL), OK);
            assert_true(n >= 1 && n <= most);
            for (int i = 0; i < n; i++)
                assert_true(prepared[i] % 8 == 0 && (i == 0 || prepared[i] > prepared[i - 1]));
            uint64_t best = UINT64_MAX, ours = cost_of(prepared, n, lengths, N);
            for (unsigned set = 0; set < 1U << WIDE; set++) {
                uint32_t some[WIDE];
                int k = 0;
                for (uint32_t i = 0; i < WIDE; i++)
                    if (set >> i & 1)
                        some[k++] = (i + 1) * 8;
                if (k < 1 || k > most || some[k - 1] < prepared[n - 1])
                    continue;
                uint64_t cost = cost_of(some, k, lengths, N);
                best = cost < best ? cost : best;
            }
            assert_int_equal(ours, best);
        }
    }
}

static void test_one_length(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {7, 7, 7};
    uint32_t prepared[BUCKET_PREPARED];
    int n;
    assert_int_equal(bucket_prepare(lengths, 3, 8, 4, prepared, &n, NULL), OK);
    assert_int_equal(n, 1);
    assert_int_equal(prepared[0], 8);
    static const uint32_t too_long[] = {1 << 20};
    error err = ERROR_INIT;
    assert_int_equal(bucket_prepare(too_long, 1, 8, 4, prepared, &n, &err), E_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_example_once),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_sorted_without_noise),
        cmocka_unit_test(test_both_sorts_agree),
        cmocka_unit_test(test_the_order_is_that_of_sorted_keys),
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
        cmocka_unit_test(test_an_order_is_made_in_its_place),
#endif
        cmocka_unit_test(test_it_saves_padding),
        cmocka_unit_test(test_prepared_lengths_are_the_best),
        cmocka_unit_test(test_one_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
