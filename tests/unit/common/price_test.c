/* Prices by the hour, the minute, the second and the day, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/price.h"

static void prices_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double per_hour;
    } cases[] = {{"2.1/h", 2.1}, {"0.5/min", 30}, {"0.25/s", 900}, {"48/day", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double per_hour = 0;
        assert_true(price_parse(cases[i].text, &per_hour));
        assert_float_equal(per_hour, cases[i].per_hour, 1e-12);
    }
}

static void what_is_no_price_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "2", "/h", "0/h", "-1/h", "x/h", "2/year", "2 /h", "2/h ", "nan/h", "inf/h",
                                        "1e308/s"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double per_hour = 7;
        assert_false(price_parse(cases[i], &per_hour));
        assert_float_equal(per_hour, 7, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prices_are_read),
        cmocka_unit_test(what_is_no_price_is_refused),
    };
    return cmocka_run_group_tests_name("price", tests, NULL, NULL);
}
