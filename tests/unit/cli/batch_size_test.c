/* Which of several batches is chosen (cli/train/batch_size.h), and how it is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/train/batch_size.h"

static void test_the_smallest_that_is_about_as_fast_is_chosen(void **state)
{
    (void)state;
    const batch_try rising[] = {{8, 100, 1}, {16, 180, 2}, {32, 288, 3}, {64, 300, 4}, {128, 303, 5}};
    assert_int_equal(batch_size_choose(rising, 5), 32); /* 288 >= 0.95 * 303 */
    assert_int_equal(batch_size_choose(rising, 2), 16);
    assert_int_equal(batch_size_choose(rising, 1), 8);
    const batch_try falling[] = {{8, 300, 1}, {16, 290, 2}, {32, 100, 3}};
    assert_int_equal(batch_size_choose(falling, 3), 8);
    const batch_try peak[] = {{1, 10, 1}, {2, 100, 2}, {4, 90, 3}};
    assert_int_equal(batch_size_choose(peak, 3), 2);
}

static void test_tries_are_described(void **state)
{
    (void)state;
    const batch_search found = {
        .tries = {{8, 1200.4, 1}, {16, 1250, 2}}, .n = 2, .chosen = 8, .end = "32 do not fit into memory"};
    buf text = BUF_INIT;
    batch_size_describe(&found, &text);
    assert_string_equal(text.data, "8: 1200/s, 16: 1250/s; 32 do not fit into memory");
    buf_fini(&text);
}

static void test_a_folder_without_a_job_has_no_batch(void **state)
{
    (void)state;
    assert_int_equal(batch_size_kept("/nowhere"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_smallest_that_is_about_as_fast_is_chosen),
        cmocka_unit_test(test_tries_are_described),
        cmocka_unit_test(test_a_folder_without_a_job_has_no_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
