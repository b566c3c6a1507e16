/* The pauses of a client, and the end that another thread sets to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "watch/http/client.h"

enum { LONG_US = 60 * 1000000, SHORT_US = 1000 };

/* One set while nobody paused is not missed: the next pause ends at once, and only that one. */
static void an_end_set_before_a_pause(void **state)
{
    (void)state;
    http_client *c;
    error err = ERROR_INIT;
    if (http_client_open(&(http_client_options){.what = "a test"}, &c, &err) != OK)
        skip(); /* no libcurl here */
    assert_true(http_client_pause(c, SHORT_US));
    int64_t begin = clock_us();
    http_client_end_by(c, begin + 2 * (int64_t)LONG_US);
    assert_true(http_client_pause(c, LONG_US));
    assert_true(clock_us() - begin < LONG_US / 2);
    begin = clock_us();
    assert_true(http_client_pause(c, 20 * SHORT_US));
    assert_true(clock_us() - begin >= 20 * SHORT_US);
    http_client_end_by(c, clock_us());
    assert_false(http_client_pause(c, LONG_US));
    http_client_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_end_set_before_a_pause)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
