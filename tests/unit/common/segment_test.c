/*
 * Segments: what is lent lies apart from all else that is out, comes back once, and outlives
 * whoever is gone; nothing a peer says leads out of its half.
 *
 * CTest labels: smoke tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/base/thread.h"
#include "common/net/segment.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Both ends of one, as two processes have them. */
typedef struct two {
    segment *lends, *borrows;
} two;

static two two_make(void)
{
    two t;
    int fd;
    assert_int_equal(segment_create(&t.lends, &fd, NULL), OK);
    assert_int_equal(segment_join(fd, &t.borrows, NULL), OK);
    close(fd);
    return t;
}

static void two_drop(two *t)
{
    segment_drop(&t->lends);
    segment_drop(&t->borrows);
}

/* Then it could lend all. */
static bool is_nothing_out(segment *s)
{
    extent whole;
    void *data;
    bool can = segment_lend(s, SEGMENT_HALF, &whole, &data);
    if (can)
        segment_take_back(s, &whole);
    return can;
}

static void check_way(segment *from, segment *to)
{
    extent lent;
    void *here;
    assert_true(segment_lend(from, 6, &lent, &here));
    strcpy(here, "hello");
    span *loan = segment_borrow(to, &lent);
    assert_non_null(loan);
    assert_ptr_not_equal(here, loan->data);
    assert_string_equal(loan->data, "hello");
    assert_false(is_nothing_out(from));
    span_drop(loan);
    assert_true(is_nothing_out(from));
}

static void both_ways_are_apart(void **state)
{
    (void)state;
    two t = two_make();
    for (int i = 0; i < 3; i++) {
        check_way(t.lends, t.borrows);
        check_way(t.borrows, t.lends);
    }
    two_drop(&t);
}

static void who_has_no_room_is_told(void **state)
{
    (void)state;
    two t = two_make();
    extent whole, small;
    void *data;
    assert_false(segment_lend(t.lends, 0, &small, &data));
    assert_false(segment_lend(t.lends, (size_t)SEGMENT_HALF + 1, &small, &data));
    assert_true(segment_lend(t.lends, SEGMENT_HALF, &whole, &data));
    assert_false(segment_lend(t.lends, 1, &small, &data));
    segment_take_back(t.lends, &whole);
    for (int i = 0; i < SEGMENT_EXTENTS; i++)
        assert_true(segment_lend(t.lends, 1, &small, &data));
    assert_false(segment_lend(t.lends, 1, &small, &data));
    segment_take_back(t.lends, &small);
    assert_true(segment_lend(t.lends, 1, &small, &data));
    assert_true(segment_lend(t.borrows, SEGMENT_HALF, &whole, &data)); /* the other half's own */
    two_drop(&t);
}

static void what_is_not_within_is_refused(void **state)
{
    (void)state;
    two t = two_make();
    void *data;
    extent lent;
    assert_true(segment_lend(t.lends, 100, &lent, &data));
    const extent bad[] = {
        {0, 0, 0, 1},
        {0, (uint64_t)SEGMENT_HALF + 1, 0, 1},
        {0, UINT64_MAX, 0, 1},
        {4, 100, 0, 1},
        {SEGMENT_HALF, 1, 0, 1},
        {SEGMENT_HALF - SEGMENT_PAGE, SEGMENT_PAGE + 1, 0, 1},
        {UINT64_MAX - SEGMENT_PAGE + 1, SEGMENT_PAGE, 0, 1},
        {0, 100, SEGMENT_EXTENTS, 1},
        {0, 100, UINT32_MAX, 1},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_null(segment_borrow(t.borrows, &bad[i]));
    /* an older edition given back says nothing of the one that is out */
    extent old = lent;
    old.edition--;
    span_drop(segment_borrow(t.borrows, &old));
    assert_false(is_nothing_out(t.lends));
    two_drop(&t);
}

static void only_sealed_memory_is_joined(void **state)
{
    (void)state;
    segment *s = NULL;
    int pipes[2], fd;
    error err = ERROR_INIT;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(segment_join(pipes[0], &s, &err), E_PROTOCOL);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(segment_join(-1, &s, NULL), E_PROTOCOL);
    fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_int_equal(segment_join(fd, &s, NULL), E_PROTOCOL); /* of another size */
    close(fd);
    two t = two_make();
    fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
    assert_int_equal(segment_join(fd, &s, NULL), E_PROTOCOL); /* it could be cut short */
    close(fd);
    two_drop(&t);
}

static void loans_outlive_the_connection(void **state)
{
    (void)state;
    two t = two_make();
    extent lent;
    void *here;
    assert_true(segment_lend(t.lends, 5, &lent, &here));
    memcpy(here, "still", 5);
    span *loan = segment_borrow(t.borrows, &lent);
    two_drop(&t);
    assert_memory_equal(loan->data, "still", 5);
    span_drop(loan);
}

/* --- who watches --- */

typedef struct watcher {
    const char *begin;
    size_t bytes;
    int n_mapped, n_unmapped;
} watcher;

static void on_mapped(void *user, void *p, size_t bytes)
{
    watcher *w = user;
    w->begin = p;
    w->bytes = bytes;
    w->n_mapped++;
}

static void on_unmapped(void *user, void *p)
{
    watcher *w = user;
    assert_ptr_equal(p, w->begin);
    assert_memory_equal(p, "still", 5); /* as yet */
    w->n_unmapped++;
}

static void who_watches_hears_before_it_is_gone(void **state)
{
    (void)state;
    two t = two_make();
    watcher w = {.n_mapped = 0};
    extent lent;
    void *here;
    segment_watch(t.borrows, &(net_memory){on_mapped, on_unmapped, &w});
    assert_int_equal(w.n_mapped, 1);
    assert_true(segment_lend(t.lends, 5, &lent, &here));
    memcpy(here, "still", 5);
    span *loan = segment_borrow(t.borrows, &lent);
    assert_ptr_equal(loan->data, w.begin);
    assert_int_equal(w.bytes, SEGMENT_HALF);
    two_drop(&t);
    assert_int_equal(w.n_unmapped, 0);
    span_drop(loan);
    assert_int_equal(w.n_unmapped, 1);
}

/* --- by chance --- */

enum { LOANS = 40, OPERATIONS = 20000 };

typedef struct held {
    span *loan;
    uint64_t *data;
    size_t n;
    uint64_t mark;
} held;

static void check_marks(const held *h)
{
    assert_int_equal(h->data[0], h->mark);
    assert_int_equal(h->data[h->n - 1], h->mark);
}

/* Extents of any size, given back in any order, some never; now and then the connection is lost,
 * and what was borrowed goes on to be read. */
static void random_loans_never_meet(void **state)
{
    (void)state;
    const rng r = rng_make(7, RNG_TEST, 1);
    uint64_t at = 0;
    two t = two_make();
    held all[LOANS] = {{.loan = NULL}};
    for (uint64_t i = 1; i <= OPERATIONS; i++) {
        held *h = &all[rng_below(&r, at++, LOANS)];
        uint64_t most = rng_below(&r, at++, 8) ? 3000 : 1 << 20;
        size_t n = 1 + (size_t)rng_below(&r, at++, most);
        if (h->loan) {
            check_marks(h);
            span_drop(h->loan);
            h->loan = NULL;
        } else {
            extent lent;
            void *data;
            if (!segment_lend(t.lends, n * 8, &lent, &data))
                continue;
            ((uint64_t *)data)[0] = ((uint64_t *)data)[n - 1] = i;
            h->loan = segment_borrow(t.borrows, &lent);
            assert_non_null(h->loan);
            *h = (held){h->loan, h->loan->data, n, i};
        }
        if (rng_below(&r, at++, 1000) == 0) {
            two_drop(&t);
            t = two_make();
        }
    }
    for (int i = 0; i < LOANS; i++)
        if (all[i].loan) {
            check_marks(&all[i]);
            span_drop(all[i].loan);
        }
    assert_true(is_nothing_out(t.lends));
    two_drop(&t);
}

/* --- several threads give back --- */

enum { BORROWERS = 3, ROUNDS = 3000 };

typedef struct counter {
    segment *borrows;
    _Atomic(held *) in; /* one loan on its way to each */
} counter;

static held last;

static void *borrow(void *arg)
{
    counter *c = arg;
    for (;;) {
        held *h = atomic_exchange(&c->in, NULL);
        if (h == &last)
            return NULL;
        if (!h) {
            sched_yield();
            continue;
        }
        check_marks(h);
        span_drop(h->loan);
        free(h);
    }
}

static void hand_over(counter *c, held *h)
{
    held *none = NULL;
    while (!atomic_compare_exchange_weak(&c->in, &none, h)) {
        none = NULL;
        sched_yield();
    }
}

static void any_thread_may_return(void **state)
{
    (void)state;
    two t = two_make();
    counter counters[BORROWERS];
    pthread_t threads[BORROWERS];
    for (int i = 0; i < BORROWERS; i++) {
        counters[i].borrows = t.borrows;
        atomic_init(&counters[i].in, NULL);
        assert_int_equal(thread_start(&threads[i], "borrower", borrow, &counters[i], NULL), OK);
    }
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        extent lent;
        void *data;
        assert_true(segment_lend(t.lends, 8192, &lent, &data));
        ((uint64_t *)data)[0] = ((uint64_t *)data)[1023] = i;
        held *h = xcalloc(1, sizeof *h);
        *h = (held){.loan = segment_borrow(t.borrows, &lent), .n = 1024, .mark = i};
        h->data = h->loan->data;
        hand_over(&counters[i % BORROWERS], h);
    }
    for (int i = 0; i < BORROWERS; i++) {
        hand_over(&counters[i], &last);
        pthread_join(threads[i], NULL);
    }
    assert_true(is_nothing_out(t.lends));
    two_drop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ways_are_apart),
        cmocka_unit_test(who_has_no_room_is_told),
        cmocka_unit_test(what_is_not_within_is_refused),
        cmocka_unit_test(only_sealed_memory_is_joined),
        cmocka_unit_test(loans_outlive_the_connection),
        cmocka_unit_test(who_watches_hears_before_it_is_gone),
        cmocka_unit_test(random_loans_never_meet),
        cmocka_unit_test(any_thread_may_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
