/* Blocks: a free one is taken again, a held one never, and those still out outlive their pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/thread.h"
#include "common/parts/block.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100 };

static span *take(block_pool *p)
{
    span *b = NULL;
    assert_int_equal(block_pool_take(p, &b, NULL), OK);
    assert_int_equal(span_n(b), N);
    return b;
}

static void test_free_blocks_are_taken_again(void **state)
{
    (void)state;
    block_pool p;
    block_pool_init(&p, N, part_store_host());
    span *a = take(&p), *b = take(&p);
    assert_ptr_not_equal(a, b);
    span_drop(a);
    assert_ptr_equal(take(&p), a);
    span_drop(a);
    span_drop(b);
    for (int i = 0; i < 100; i++) {
        span *c = take(&p), *d = take(&p);
        span_drop(c);
        span_drop(d);
    }
    assert_int_equal(p.n_blocks, 2);
    block_pool_fini(&p);
    span_drop(NULL);
}

static void test_a_held_block_is_left_alone(void **state)
{
    (void)state;
    block_pool p;
    block_pool_init(&p, N, part_store_host());
    span *a = take(&p);
    assert_false(span_is_shared(a));
    assert_ptr_equal(span_hold(a), a);
    assert_true(span_is_shared(a));
    span_drop(a);
    assert_false(span_is_shared(a));
    span *b = take(&p);
    assert_ptr_not_equal(a, b);
    span_drop(a);
    span_drop(b);
    block_pool_fini(&p);
}

static void test_new_blocks_are_zero_and_aligned(void **state)
{
    (void)state;
    block_pool p;
    block_pool_init(&p, N, part_store_host());
    span *b = take(&p);
    static const float zero[N];
    assert_memory_equal(b->data, zero, sizeof zero);
    assert_int_equal((uintptr_t)b->data % MEM_ALIGN, 0);
    span_drop(b);
    block_pool_fini(&p);
}

static void test_blocks_outlive_the_pool(void **state)
{
    (void)state;
    block_pool p;
    block_pool_init(&p, N, part_store_host());
    span *a = take(&p), *b = take(&p);
    span_drop(b);
    block_pool_fini(&p);
    memset(a->data, 1, N * sizeof(float));
    span_drop(a); /* the sanitizers see a leak or a second free */
}

static void test_as_a_fold_wants_them(void **state)
{
    (void)state;
    block_pool p;
    block_pool_init(&p, N, part_store_host());
    tree_reducer_pool f = block_pool_for_reducer(&p);
    span *b = NULL;
    assert_int_equal(f.take(f.owner, N, &b, NULL), OK);
    assert_true(b->writable);
    assert_int_equal(span_n(b), N);
    const float *behind = b->floats;
    span_drop(b);
    b = take(&p);
    assert_ptr_equal(b->floats, behind);
    span_drop(b);
    block_pool_fini(&p);
}

enum { ROUNDS = 2000 };

typedef struct handover {
    _Atomic(span *) slot;
} handover;

/* Drops what is handed over; its value must still be what the giver wrote. */
static void *drop_all(void *arg)
{
    handover *h = arg;
    for (float want = 0; want < ROUNDS;) {
        span *b = atomic_exchange(&h->slot, NULL);
        if (!b) {
            sched_yield();
            continue;
        }
        if (b->floats[0] != want || b->floats[N - 1] != want)
            abort();
        want++;
        span_drop(b);
    }
    return NULL;
}

/* CTest labels: tsan */
static void test_dropped_on_another_thread(void **state)
{
    (void)state;
    block_pool p;
    block_pool_init(&p, N, part_store_host());
    handover h = {.slot = NULL};
    pthread_t thread;
    assert_int_equal(thread_start(&thread, "drop", drop_all, &h, NULL), OK);
    for (int i = 0; i < ROUNDS; i++) {
        span *b = take(&p);
        for (int k = 0; k < N; k++)
            b->floats[k] = (float)i;
        span *empty = NULL;
        while (!atomic_compare_exchange_weak(&h.slot, &empty, b)) {
            empty = NULL;
            sched_yield();
        }
    }
    pthread_join(thread, NULL);
    assert_in_range(p.n_blocks, 1, 3);
    block_pool_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_blocks_are_taken_again),
        cmocka_unit_test(test_a_held_block_is_left_alone),
        cmocka_unit_test(test_new_blocks_are_zero_and_aligned),
        cmocka_unit_test(test_blocks_outlive_the_pool),
        cmocka_unit_test(test_as_a_fold_wants_them),
        cmocka_unit_test(test_dropped_on_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
