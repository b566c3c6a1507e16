/* When histograms are ordered: every so many versions, ahead, one order at a time. */
#include "master/servers/summaries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/master/support_accounts.h"

static void test_orders(void **state)
{
    (void)state;
    accounts b = accounts_make();
    assign a;
    assign_init(&a, 2, false);
    summaries *s = summaries_create(b.flat, &a, 3);
    assert_int_equal(summaries_order(s, 0, 11), 3);
    assert_int_equal(summaries_order(s, 0, 11), -1);
    assert_int_equal(summaries_order(s, 2, 11), -1);
    /* reports of a step may come before its sums do: the servers are not past version 3 for sure */
    assert_int_equal(summaries_order(s, 3, 11), -1);
    /* now they are, and whoever has not answered does not */
    assert_int_equal(summaries_order(s, 4, 11), 6);
    assert_int_equal(summaries_order(s, 8, 11), 9);
    assert_int_equal(summaries_order(s, 10, 11), -1);

    Wire__Histogram empty = WIRE__HISTOGRAM__INIT;
    assert_int_equal(summaries_take(s, NULL, 6, &empty, NULL), OK); /* nobody waits for it */
    summaries_destroy(&s);
    assign_fini(&a);
    accounts_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
