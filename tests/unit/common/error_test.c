#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/descriptors.h"
#include "common/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static status innermost(error *err)
{
    return FAIL(err, E_IO, "open '%s': No such file", "x");
}

static status middle(error *err)
{
    TRYF(innermost(err), err, "shard %d", 1);
    return OK;
}

static status outermost(error *err)
{
    status st;
    TRY_OUT(st, middle(err));
out:
    if (st != OK)
        error_prepend(err, "worker %d: restore", 3);
    return st;
}

static void messages_read_from_outside_in(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    assert_int_equal(outermost(&err), E_IO);
    assert_int_equal(err.code, E_IO);
    assert_string_equal(err.text, "worker 3: restore: shard 1: open 'x': No such file");
    assert_int_equal(outermost(NULL), E_IO);
}

static void the_first_cause_stays(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    error_prepend(&err, "nothing to say");
    assert_string_equal(err.text, "");
    assert_int_equal(FAIL(&err, E_DATA, "first"), E_DATA);
    assert_int_equal(FAIL(&err, E_IO, "second"), E_IO);
    assert_int_equal(err.code, E_DATA);
    assert_string_equal(err.text, "first");
    error_clear(&err);
    assert_int_equal(err.code, OK);
    assert_int_equal(FAIL(&err, E_IO, "second"), E_IO);
    assert_string_equal(err.text, "second");
    error_clear(NULL);
    error_prepend(NULL, "x");
}

/* Too long a text is cut, never overruns, and a context leaves half of the room to the cause. */
static void long_texts_are_cut(void **state)
{
    (void)state;
    char *text = malloc(2 * ERROR_TEXT + 1);
    for (size_t cause = 0; cause < 2 * ERROR_TEXT; cause += 97)
        for (size_t context = 0; context < 2 * ERROR_TEXT; context += 101) {
            struct {
                error err;
                char behind[16];
            } box = {.err = ERROR_INIT, .behind = "untouched"};
            memset(text, 'c', cause);
            text[cause] = '\0';
            assert_int_equal(FAIL(&box.err, E_FAIL, "%s", text), E_FAIL);
            memset(text, 'x', context);
            text[context] = '\0';
            error_prepend(&box.err, "%s", text);
            size_t kept = context < ERROR_TEXT / 2 - 3 ? context : ERROR_TEXT / 2 - 3;
            size_t whole = kept + 2 + cause;
            size_t length = strlen(box.err.text);
            assert_int_equal(length, whole < ERROR_TEXT - 1 ? whole : ERROR_TEXT - 1);
            assert_int_equal(strspn(box.err.text, "x"), kept);
            assert_memory_equal(box.err.text + kept, ": ", 2);
            assert_int_equal(strspn(box.err.text + kept + 2, "c"), length - kept - 2);
            assert_string_equal(box.behind, "untouched");
        }
    free(text);
}

static void every_status_has_a_name_and_an_exit_code(void **state)
{
    (void)state;
    for (int s = 0; s < STATUS_COUNT; s++) {
        assert_true(strlen(status_name((status)s)) > 0);
        assert_int_equal(status_exit_code((status)s) == 0, s == OK);
    }
    assert_int_equal(status_exit_code(E_USAGE), 2);
    assert_int_equal(status_exit_code(E_CONFIG), 2);
    assert_int_equal(status_exit_code(E_DATA), 3);
    assert_int_equal(status_exit_code(E_UNSUPPORTED), 4);
    assert_int_equal(status_exit_code(E_PREEMPTED), 143);
    assert_int_equal(status_exit_code((status)99), 1);
    assert_string_equal(status_name((status)99), "unknown status");
}

static void test_too_many_open_files_come_with_advice(void **state)
{
    (void)state;
    struct rlimit limit;
    char has[64];
    error err = ERROR_INIT;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    snprintf(has, sizeof has, "; this process may have %llu: raise", (unsigned long long)limit.rlim_cur);
    (void)FAIL(&err, E_IO, "open 'x': %s", strerror(EMFILE));
    assert_ptr_equal(strstr(err.text, "open 'x': Too many open files; "), err.text);
    assert_non_null(strstr(err.text, has));
    assert_non_null(strstr(err.text, "`ulimit -n`"));

    error_clear(&err);
    assert_int_equal(descriptors_check(1, 70, &err), OK);
    assert_int_equal(descriptors_check((int64_t)limit.rlim_cur + 1, 70, &err), E_IO);
    assert_non_null(strstr(err.text, " and needs about 70: raise"));

    error_clear(&err);
    (void)FAIL(&err, E_IO, "open 'x': %s", strerror(ENFILE));
    assert_non_null(strstr(err.text, "fs.file-max"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many_open_files_come_with_advice),
        cmocka_unit_test(messages_read_from_outside_in),
        cmocka_unit_test(the_first_cause_stays),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(every_status_has_a_name_and_an_exit_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
