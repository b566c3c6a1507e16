#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/wait_warning.h"

enum { SECOND = 1000000 };

static void test_speaks_at_growing_intervals(void **state)
{
    (void)state;
    wait_warning w = {0};
    double waited = -1;
    int64_t said[16], n = 0;
    for (int64_t now = 0; now <= 200; now++)
        if (wait_warning_due(&w, now * SECOND, 0, 5.0, &waited)) {
            assert_true(waited == (double)now);
            said[n++] = now;
        }
    static const int64_t expected[] = {5, 15, 45, 135};
    assert_int_equal(n, 4);
    assert_memory_equal(said, expected, sizeof expected);
}

static void test_every_wait_begins_anew(void **state)
{
    (void)state;
    wait_warning w = {0};
    double waited;
    assert_true(wait_warning_due(&w, 100 * SECOND, 0, 5.0, &waited));
    assert_false(wait_warning_due(&w, 101 * SECOND, 100 * SECOND, 5.0, &waited));
    assert_true(wait_warning_due(&w, 106 * SECOND, 100 * SECOND, 5.0, &waited));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speaks_at_growing_intervals),
        cmocka_unit_test(test_every_wait_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
