/* Sets of batches against a plain array of booleans, in random orders of arrival. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/parts/batch_set.h"

#include <stdlib.h>

enum { IDS = 700 };

typedef struct plain {
    bool in[IDS];
} plain;

static void check(const batch_set *s, const plain *p)
{
    int64_t floor = 0, count = 0;
    while (floor < IDS && p->in[floor])
        floor++;
    for (int64_t b = 0; b < IDS; b++) {
        assert_int_equal(batch_set_has(s, b), p->in[b]);
        count += p->in[b];
    }
    assert_int_equal(s->floor, floor);
    assert_int_equal(batch_set_count(s), count);
    assert_false(batch_set_has(s, IDS + 5));
}

/* The next of the ids not there, at most `spread` beyond the lowest. */
static int64_t pick(const plain *p, uint64_t draw, int64_t spread)
{
    int64_t low = 0;
    while (p->in[low])
        low++;
    int64_t n = 0, room = low + spread < IDS ? low + spread : IDS;
    for (int64_t b = low; b < room; b++)
        n += !p->in[b];
    int64_t left = (int64_t)(draw % (uint64_t)n);
    for (int64_t b = low;; b++)
        if (!p->in[b] && left-- == 0)
            return b;
}

static void fill_at_random(batch_set *s, plain *p, uint64_t seed, int64_t n, int64_t spread)
{
    rng r = rng_make(seed, RNG_TEST, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t b = pick(p, rng_u32(&r, (uint64_t)i), spread);
        p->in[b] = true;
        assert_true(batch_set_add(s, b));
        assert_false(batch_set_add(s, b));
        if (i % 17 == 0)
            check(s, p);
    }
    check(s, p);
}

static void test_any_order(void **state)
{
    (void)state;
    static const int64_t spreads[] = {1, 2, 9, 64, 65, 130, IDS};
    for (size_t i = 0; i < COUNT_OF(spreads); i++) {
        batch_set s = BATCH_SET_INIT;
        plain p = {.in = {false}};
        fill_at_random(&s, &p, i, IDS, spreads[i]);
        assert_int_equal(s.floor, IDS);
        assert_int_equal(s.beyond, 0);
        batch_set_fini(&s);
    }
}

static void test_copy_and_pack(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        batch_set s = BATCH_SET_INIT, copy = BATCH_SET_INIT, read = BATCH_SET_INIT;
        plain p = {.in = {false}};
        buf packed = BUF_INIT, again = BUF_INIT;
        error err = ERROR_INIT;
        batch_set_add(&copy, 3); /* what was there goes */
        fill_at_random(&s, &p, seed, (int64_t)seed * 15, 1 + (int64_t)(seed * seed) % 200);
        batch_set_copy(&copy, &s);
        check(&copy, &p);
        batch_set_pack(&s, &packed);
        assert_int_equal(packed.size % 4, 0);
        assert_int_equal(batch_set_unpack(packed.data, packed.size, &read, &err), OK);
        check(&read, &p);
        batch_set_pack(&read, &again);
        assert_int_equal(packed.size, again.size);
        assert_memory_equal(packed.data, again.data, packed.size);
        buf_fini(&packed);
        buf_fini(&again);
        batch_set_fini(&s);
        batch_set_fini(&copy);
        batch_set_fini(&read);
    }
}

static void test_intersect(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        batch_set a = BATCH_SET_INIT, b = BATCH_SET_INIT;
        plain p = {.in = {false}}, q = {.in = {false}};
        fill_at_random(&a, &p, seed, 40 + (int64_t)seed * 7, 90);
        fill_at_random(&b, &q, seed + 1000, 300 - (int64_t)seed * 6, 1 + (int64_t)seed);
        batch_set_intersect(&a, &b);
        for (int i = 0; i < IDS; i++)
            p.in[i] = p.in[i] && q.in[i];
        check(&a, &p);
        batch_set_fini(&a);
        batch_set_fini(&b);
    }
}

static void test_span(void **state)
{
    (void)state;
    batch_set s = BATCH_SET_INIT;
    batch_set_fill(&s, 1000);
    assert_int_equal(batch_set_count(&s), 1000);
    assert_true(batch_set_fits(&s, 5));
    assert_true(batch_set_fits(&s, 1000 + BATCH_SPAN - 1));
    assert_false(batch_set_fits(&s, 1000 + BATCH_SPAN));
    assert_true(batch_set_add(&s, 1000 + BATCH_SPAN - 1));
    assert_int_equal(s.floor, 1000);
    buf packed = BUF_INIT;
    batch_set_pack(&s, &packed);
    assert_int_equal(packed.size, BATCH_SET_PACKED_MAX);
    buf_fini(&packed);
    batch_set_fini(&s);
}

/* One id overtaken by all others, for longer than the ring is: its bits are used again and again.
 */
static void test_ring_goes_round(void **state)
{
    (void)state;
    batch_set s = BATCH_SET_INIT;
    for (int64_t b = 0; b < 5000; b += 50) {
        for (int64_t k = 1; k < 50; k++)
            assert_true(batch_set_add(&s, b + k));
        assert_int_equal(s.floor, b);
        assert_int_equal(s.beyond, 49);
        assert_true(batch_set_add(&s, b));
        assert_int_equal(s.floor, b + 50);
    }
    assert_true(s.n_words <= 2);
    batch_set_fini(&s);
}

static void refused(const void *data, size_t bytes)
{
    batch_set s = BATCH_SET_INIT;
    error err = ERROR_INIT;
    assert_int_equal(batch_set_unpack(data, bytes, &s, &err), E_DATA);
    assert_true(err.text[0]);
    batch_set_fini(&s);
}

static void test_damage(void **state)
{
    (void)state;
    unsigned char good[12] = {7, 0, 0, 0, 0, 0, 0, 0, 2};
    refused(good, 0);
    refused(good, 7);
    refused(good, 10);
    unsigned char own_floor[12] = {7, 0, 0, 0, 0, 0, 0, 0, 1};
    refused(own_floor, sizeof own_floor);
    unsigned char negative[8] = {0, 0, 0, 0, 0, 0, 0, 0x80};
    refused(negative, sizeof negative);
    void *large = xcalloc(1, BATCH_SET_PACKED_MAX + 4);
    refused(large, BATCH_SET_PACKED_MAX + 4);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),       cmocka_unit_test(test_copy_and_pack),
        cmocka_unit_test(test_intersect),       cmocka_unit_test(test_span),
        cmocka_unit_test(test_ring_goes_round), cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
