/* Text and bytes, both ways: RFC 4648's vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/base64.h"

#include <string.h>

static void both_ways(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"", ""},         {"f", "Zg=="},         {"fo", "Zm8="},     {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        buf text = BUF_INIT, bytes = BUF_INIT;
        buf_adds(&text, "a:");
        base64_write(rows[i][0], strlen(rows[i][0]), &text);
        assert_string_equal(text.data + 2, rows[i][1]);
        assert_int_equal(text.size, 2 + strlen(rows[i][1]));
        assert_true(base64_read(rows[i][1], strlen(rows[i][1]), &bytes));
        assert_string_equal(bytes.data, rows[i][0]);
        buf_fini(&text);
        buf_fini(&bytes);
    }
    buf none = BUF_INIT;
    assert_false(base64_read("Zg=", 3, &none));
    assert_int_equal(none.size, 0);
    buf_fini(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
