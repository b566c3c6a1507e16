/* What the master tells of its job: written and read, and what is no such file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/store/live_file.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <stdlib.h>
#include <string.h>

static void what_is_told_is_read(void **state)
{
    (void)state;
    char *path = jobdir_place("told");
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    json_t *told = json_pack("{s:i}", "schema", 1), *read = NULL;
    assert_int_equal(live_file_read(d, &read, NULL), OK);
    assert_null(read);
    live_file_write(d, told);
    assert_int_equal(live_file_read(d, &read, NULL), OK);
    assert_true(json_equal(read, told));
    json_decref(read);
    json_decref(told);
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

static void strange_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why; /* NULL: nothing was told */
    } cases[] = {{"", NULL}, {"[]", "an object is needed, not a list"}, {"{\"schema\": ", "live.json"}};
    char *path = jobdir_place("strange");
    config *c = jobdir_config(NULL);
    jobdir *d = jobdir_start((jobdir_request){.path = path, .config = c});
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        error err = ERROR_INIT;
        json_t *read = NULL;
        jobdir_put(path, LIVE_FILE, cases[i].text);
        assert_int_equal(live_file_read(d, &read, &err), cases[i].why ? E_DATA : OK);
        assert_null(read);
        assert_true(!cases[i].why || strstr(err.text, cases[i].why));
    }
    jobdir_close(&d);
    config_destroy(&c);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_read),
        cmocka_unit_test(strange_files_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
