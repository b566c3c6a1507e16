/*
 * Helpers: every piece is done once, before the call returns, whoever does it. CTest labels: tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST = 200 };

typedef struct count {
    int done[MOST]; /* written by whoever does the piece, read when all are done */
    atomic_int inside;
    int together; /* wait for so many to be inside at once */
} count;

static void do_piece(size_t piece, void *arg)
{
    count *c = arg;
    c->done[piece]++;
    atomic_fetch_add(&c->inside, 1);
    while (atomic_load(&c->inside) < c->together)
        ;
}

static void check(thread_pool *h, size_t n)
{
    count c = {.together = 0};
    thread_pool_share(h, n, do_piece, &c);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(c.done[i], i < n);
}

static void test_every_piece_once(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 8};
    for (size_t i = 0; i < 4; i++) {
        thread_pool *h = NULL;
        assert_int_equal(thread_pool_create(threads[i], "ps.0", &h, NULL), OK);
        for (size_t n = 0; n <= MOST; n++)
            check(h, n);
        for (int again = 0; again < 2000; again++)
            check(h, 5);
        thread_pool_destroy(&h);
        assert_null(h);
    }
}

/* As many as there are threads work at once. */
static void test_they_do_help(void **state)
{
    (void)state;
    thread_pool *h = NULL;
    assert_int_equal(thread_pool_create(4, "ps.0", &h, NULL), OK);
    for (int again = 0; again < 50; again++) {
        count c = {.together = 4};
        thread_pool_share(h, 4, do_piece, &c);
        assert_int_equal(atomic_load(&c.inside), 4);
    }
    thread_pool_destroy(&h);
}

static void test_alone(void **state)
{
    (void)state;
    thread_pool *none = NULL;
    check(NULL, 7);
    thread_pool_destroy(&none);
    thread_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_piece_once),
        cmocka_unit_test(test_they_do_help),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
