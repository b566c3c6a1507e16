/* Spans: the last drop releases, once, on whatever thread; who is alone knows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/span.h"
#include "common/base/thread.h"

#include <stdlib.h>

typedef struct memory {
    span span;
    int number, n_released;
} memory;

static void release(span *s)
{
    memory *m = s->owner;
    m->n_released++;
    m->number = -1; /* it may be written again */
}

static void lend(memory *m)
{
    m->number = 7;
    m->span = (span){
        .data = &m->number, .bytes = sizeof m->number, .refs = 1, .release = release, .owner = m};
}

static void test_the_last_drop_releases(void **state)
{
    (void)state;
    memory m = {.n_released = 0};
    for (int i = 1; i <= 3; i++) {
        lend(&m);
        assert_false(span_is_shared(&m.span));
        assert_ptr_equal(span_hold(&m.span), &m.span);
        assert_true(span_is_shared(&m.span));
        span_drop(&m.span);
        assert_false(span_is_shared(&m.span));
        assert_int_equal(m.n_released, i - 1);
        span_drop(&m.span);
        assert_int_equal(m.n_released, i);
    }
    span_drop(NULL);
}

static void test_a_hold_moves(void **state)
{
    (void)state;
    memory m = {.n_released = 0};
    lend(&m);
    span *here = &m.span, *there = span_move(&here);
    assert_null(here);
    assert_ptr_equal(there, &m.span);
    assert_false(span_is_shared(there));
    span_drop(there);
    assert_int_equal(m.n_released, 1);
    assert_null(span_move(&here));
}

static void test_a_copy_is_its_own(void **state)
{
    (void)state;
    float numbers[] = {1, 2, 3};
    span *s = span_copy(numbers, sizeof numbers);
    numbers[0] = 5;
    assert_int_equal(span_bytes(s), sizeof numbers);
    assert_int_equal(span_n(s), 3);
    assert_int_equal((uintptr_t)span_data(s) % sizeof(float), 0);
    assert_true(s->writable && s->floats[0] == 1 && s->floats[2] == 3);
    span_drop(s);
    span *empty = span_copy(NULL, 0);
    assert_int_equal(span_bytes(empty), 0);
    span_drop(empty);
}

static void test_none_is_empty(void **state)
{
    (void)state;
    assert_null(span_data(NULL));
    assert_int_equal(span_bytes(NULL), 0);
    assert_int_equal(span_n(NULL), 0);
}

enum { ROUNDS = 600, THREADS = 3 };

static void *read_and_drop(void *arg)
{
    const int *number = ((span *)arg)->data;
    if (*number != 7)
        abort();
    span_drop(arg);
    return NULL;
}

/* CTest labels: tsan */
static void test_any_thread_may_drop(void **state)
{
    (void)state;
    memory m = {.n_released = 0};
    for (int i = 1; i <= ROUNDS / THREADS; i++) {
        pthread_t threads[THREADS];
        lend(&m);
        for (int k = 0; k < THREADS; k++)
            assert_int_equal(
                thread_start(&threads[k], "dropper", read_and_drop, span_hold(&m.span), NULL), OK);
        span_drop(&m.span); /* whoever is last may write: the thread sanitizer sees the order */
        for (int k = 0; k < THREADS; k++)
            pthread_join(threads[k], NULL);
        assert_int_equal(m.n_released, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_drop_releases), cmocka_unit_test(test_a_hold_moves),
        cmocka_unit_test(test_a_copy_is_its_own),      cmocka_unit_test(test_none_is_empty),
        cmocka_unit_test(test_any_thread_may_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
