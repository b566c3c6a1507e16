/*
 * Spares: what a table will lack while a cut holds its blocks is made before, once, and then no
 * update needs memory of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/spares.h"
#include "unit/ps/support_table.h"

static size_t lacking(const table *t, const flat *f)
{
    size_t n = 0, floats;
    for (int32_t p = 0; p < f->n_parts; p++)
        n += table_lacks(t, p, &floats);
    return n;
}

/* Until the maker's word has come. */
static void await(net_waker *waker, spares *s, table *t, const flat *f)
{
    for (int i = 0; i < 200 && lacking(t, f); i++) {
        assert_int_equal(net_poll(NULL, 0, waker, 100, NULL), OK);
        spares_take(s, t);
    }
}

static void test_no_update_lacks_a_block(void **state)
{
    (void)state;
    shape s = shape_large(2);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    table *t = v.tables[0];
    net_waker *waker = NULL;
    assert_int_equal(net_waker_create(&waker, NULL), OK);
    spares *made = spares_create(waker);
    spares_take(made, t); /* nothing was ordered */
    servers_push_all(&v, 0);
    size_t per_part = 1 + optim_slots(&s.optim);
    assert_int_equal(lacking(t, s.flat), per_part * (size_t)s.flat->n_live_parts);
    spares_order(made, t, s.flat->n_parts);
    await(waker, made, t, s.flat);
    assert_int_equal(lacking(t, s.flat), 0);

    block *weights[8], *slots[8][OPTIM_SLOTS];
    for (int32_t p = 0; p < s.flat->n_parts; p++)
        table_freeze(t, p, &weights[p], slots[p]);
    servers_push_all(&v, 1); /* writes into the spares, all but those of version 0 */
    servers_push_all(&v, 2);
    whole w = whole_make(&s);
    for (int i = 0; i < 3; i++)
        whole_step(&w, 1);
    servers_check(&v, &w);
    for (int32_t p = 0; p < s.flat->n_parts; p++) {
        block_drop(weights[p]);
        for (size_t i = 0; i < OPTIM_SLOTS; i++)
            block_drop(slots[p][i]);
    }
    assert_int_equal(lacking(t, s.flat), 0); /* for the next cut */
    spares_order(made, t, s.flat->n_parts);
    spares_take(made, t);
    whole_fini(&w);
    spares_destroy(&made);
    net_waker_destroy(&waker);
    servers_fini(&v);
    shape_fini(&s);
}

static void test_an_end_in_the_midst(void **state)
{
    (void)state;
    shape s = shape_large(2);
    servers v = servers_make(&s, 1, &quiet_hooks, 0, NULL);
    net_waker *waker = NULL;
    assert_int_equal(net_waker_create(&waker, NULL), OK);
    for (int i = 0; i < 20; i++) {
        spares *made = spares_create(waker);
        spares_order(made, v.tables[0], s.flat->n_parts);
        spares_destroy(&made);
    }
    net_waker_destroy(&waker);
    servers_fini(&v);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_update_lacks_a_block),
        cmocka_unit_test(test_an_end_in_the_midst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
