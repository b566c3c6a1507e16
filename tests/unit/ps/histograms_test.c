/* Histograms at a server: an order is carried out whole or not at all, and the next one is free. */
#include "ps/histograms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/ps/support_table.h"

static histograms *gathering;
static table *gathered;

static status on_applied(void *user, int32_t part, int64_t version, const float *grad, error *err)
{
    (void)user;
    return gathering ? histograms_applied(gathering, gathered, part, version, grad, err) : OK;
}

static bool has_one(int64_t *ret_version)
{
    buf packed = BUF_INIT;
    bool has = histograms_next(gathering, ret_version, &packed);
    buf_fini(&packed);
    return has;
}

static void test_a_late_order_is_not_half_carried_out(void **state)
{
    (void)state;
    shape s = shape_large(2);
    table_hooks hooks = quiet_hooks;
    hooks.applied = on_applied;
    servers v = servers_make(&s, 1, &hooks, 0, NULL);
    gathered = v.tables[0];
    const holders only = {.acting = 0, .standby = -1};
    gathering = histograms_create(s.flat, v.placement, &only, 0);
    int64_t version;
    assert_true(s.flat->n_live_parts > 1);

    /* the first part is at version 1 when the order for it comes */
    servers_push_step(&v, 0, 0);
    histograms_order(gathering, gathered, 1);
    for (int32_t p = 1; p < s.flat->n_live_parts; p++)
        servers_push_step(&v, p, 0);
    assert_false(has_one(&version));

    histograms_order(gathering, gathered, 2);
    servers_push_all(&v, 1);
    assert_true(has_one(&version));
    assert_int_equal(version, 2);
    assert_false(has_one(&version));
    histograms_destroy(&gathering);
    servers_fini(&v);
    shape_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_late_order_is_not_half_carried_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
