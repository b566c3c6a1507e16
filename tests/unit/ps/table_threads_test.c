/*
 * However many threads compute a table's updates and norms, the bits are those of one.
 * CTest labels: tsan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/ps/support_table.h"

#include <string.h>

enum { STEPS = 4 };

static double norms[STEPS][8]; /* by part, as they were voted */

static void note_norm(void *user, int32_t part, int64_t step, double square_sum)
{
    (void)user;
    norms[step][part] = square_sum;
}

static void play(int threads, optim_kind kind)
{
    shape s = shape_wide(2);
    s.votes = true;
    s.optim = (optim){.kind = kind, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    assert_int_equal(thread_pool_create(threads, "ps.0", &s.thread_pool, NULL), OK);
    table_hooks hooks = quiet_hooks;
    hooks.voted = note_norm;
    servers v = servers_make(&s, 1, &hooks, 0, NULL);
    whole w = whole_make(&s);
    for (int64_t step = 0; step < STEPS; step++) {
        servers_push_all(&v, step);
        assert_int_equal(table_verdict(v.tables[0], step, (verdict){.scale = 0.5f}, NULL), OK);
        whole_step(&w, 0.5f);
        servers_check(&v, &w);
    }
    whole_fini(&w);
    servers_fini(&v);
    thread_pool_destroy(&s.thread_pool);
    shape_fini(&s);
    assert_int_equal(hands_out(), 0);
}

static void test_threads_do_not_show(void **state)
{
    (void)state;
    const optim_kind kinds[] = {OPTIM_SGD, OPTIM_ADAM};
    for (size_t k = 0; k < 2; k++) {
        double alone[STEPS][8];
        play(1, kinds[k]);
        memcpy(alone, norms, sizeof alone);
        play(2, kinds[k]);
        assert_memory_equal(norms, alone, sizeof alone);
        play(8, kinds[k]);
        assert_memory_equal(norms, alone, sizeof alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_do_not_show)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
