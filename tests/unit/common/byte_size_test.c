/* Sizes in units of 1000 and of 1024, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/byte_size.h"

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {{"1", 1},           {"4096 B", 4096},        {"3kB", 3000},       {"8GB", 8000000000},
                 {"1.5 GB", 1500000000}, {"8GiB", (size_t)8 << 30}, {"0.5MiB", 1 << 19}, {"2TiB", (size_t)2 << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t bytes = 0;
        assert_true(byte_size_parse(cases[i].text, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void what_is_no_size_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "GB", "0", "0GB", "-1GB", "8G", "8gb", "8 GB ", "1e9", "0x10", "1.2.3",
                                        "nan", "inf", " 8GB", "0.1B", "99999999999TB"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t bytes = 7;
        assert_false(byte_size_parse(cases[i], &bytes));
        assert_int_equal(bytes, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(what_is_no_size_is_refused),
    };
    return cmocka_run_group_tests_name("byte_size", tests, NULL, NULL);
}
