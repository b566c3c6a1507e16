#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/buf.h"

#include <stdlib.h>
#include <string.h>

static void text_and_bytes_are_appended(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    buf_adds(&b, "");
    assert_string_equal(b.data, "");
    buf_adds(&b, "step ");
    buf_addf(&b, "%d of %s", 3, "ten");
    buf_add(&b, "\0x", 2);
    assert_int_equal(b.size, 15);
    assert_memory_equal(b.data, "step 3 of ten\0x", 16); /* with the zero behind it */
    buf_clear(&b);
    assert_int_equal(b.size, 0);
    assert_string_equal(b.data, "");
    buf_fini(&b);
    assert_null(b.data);
    buf_fini(&b);
    buf_clear(&b);
}

static void it_grows_and_stays_terminated(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    for (int i = 0; i < 5000; i++) {
        buf_addf(&b, "%d,", i % 10);
        assert_true(b.size < b.cap);
        assert_int_equal(b.data[b.size], 0);
    }
    assert_int_equal(b.size, 10000);
    for (size_t i = 0; i < b.size; i++)
        assert_int_equal(b.data[i], i % 2 ? ',' : '0' + (int)(i / 2 % 10));
    buf_fini(&b);
}

static void reserved_room_does_not_move(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    buf_reserve(&b, 1000);
    char *data = b.data;
    char bytes[1000] = {1};
    buf_add(&b, bytes, sizeof bytes);
    assert_ptr_equal(b.data, data);
    buf_fini(&b);
}

static void detached_text_is_never_null(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    char *empty = buf_detach(&b);
    assert_string_equal(empty, "");
    buf_adds(&b, "again");
    char *text = buf_detach(&b);
    assert_string_equal(text, "again");
    assert_null(b.data);
    free(empty);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_bytes_are_appended),
        cmocka_unit_test(it_grows_and_stays_terminated),
        cmocka_unit_test(reserved_room_does_not_move),
        cmocka_unit_test(detached_text_is_never_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
