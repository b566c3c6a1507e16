/* Folders that somebody works in: several at a time, and whoever asks sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/store/folder_lock.h"
#include "support/folder.h"

#include <stdlib.h>

static void who_asks_sees_who_works_there(void **state)
{
    (void)state;
    char *dir = folder_file("held");
    int alone = -1;
    assert_false(folder_is_held(dir)); /* it is not there */
    assert_int_equal(folder_hold(dir), -1);
    assert_int_equal(fs_mkdirs(dir, NULL), OK);
    assert_false(folder_is_held(dir));
    int first = folder_hold(dir), second = folder_hold(dir);
    assert_true(first >= 0 && second >= 0);
    assert_true(folder_is_held(dir));
    folder_unlock(first);
    assert_true(folder_is_held(dir));
    folder_unlock(second);
    assert_false(folder_is_held(dir));
    assert_true(folder_lock(dir, &alone));
    assert_true(folder_is_held(dir));
    folder_unlock(alone);
    assert_false(folder_is_held(dir));
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_asks_sees_who_works_there)};
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
