/* A job dir as documents: lines of files that grow, are cut back or replaced; logs by names that are listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/look/job_view.h"
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put(const char *dir, const char *name, const char *text, const char *how)
{
    char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, how);
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(path);
}

/* What stands there from where the last look ended, which is moved on. */
static void expect(const char *dir, job_lines *at, int64_t from, const char *text)
{
    job_lines now;
    assert_int_equal(job_view_lines(dir, "metrics.jsonl", at->tag, at->next, &now, NULL), OK);
    assert_int_equal(now.from, from);
    assert_string_equal(now.text.data, text);
    assert_int_equal(now.text.size, strlen(text));
    job_lines_fini(at);
    *at = now;
}

static void files_grow_and_go_back(void **state)
{
    (void)state;
    char *dir = folder_file("lines"), *path = xasprintf("%s/metrics.jsonl", dir);
    job_lines at = {.text = BUF_INIT};
    assert_int_equal(fs_mkdirs(dir, NULL), OK);
    expect(dir, &at, 0, "");
    put(dir, "metrics.jsonl", "one\ntwo\nhal", "w");
    expect(dir, &at, 0, "one\ntwo\n");
    expect(dir, &at, 8, "");
    put(dir, "metrics.jsonl", "f\n", "a");
    expect(dir, &at, 8, "half\n");
    assert_int_equal(truncate(path, 4), 0);
    expect(dir, &at, 0, "one\n");
    assert_int_equal(fs_write_atomic(path, "other\nlines\n", 12, NULL), OK);
    expect(dir, &at, 0, "other\nlines\n");
    at.next = 3; /* a byte that no line ends before: of a file that was written anew */
    expect(dir, &at, 0, "other\nlines\n");
    job_lines_fini(&at);
    free(path);
    free(dir);
}

static void logs_are_those_listed(void **state)
{
    (void)state;
    char *dir = folder_file("logs"), *log = xasprintf("%s/log", dir);
    json_t *tasks = NULL;
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    assert_int_equal(fs_mkdirs(log, NULL), OK);
    put(dir, "log/ps.0.log", "first\nsecond\nthird\n", "w");
    put(dir, "log/config.json", "{}", "w");
    put(dir, "key.log", "secret\n", "w");
    assert_int_equal(job_view_tasks(dir, &tasks, NULL), OK);
    assert_int_equal(json_array_size(tasks), 1);
    assert_string_equal(json_string_value(json_array_get(tasks, 0)), "ps.0");
    assert_int_equal(job_view_log(dir, "ps.0", 10, &text, NULL), OK);
    assert_string_equal(text.data, "third\n");
    static const char *const others[] = {"../key", "config", "", "ps.1", "/etc/passwd"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(job_view_log(dir, others[i], 100, &text, &err), E_DATA);
    json_decref(tasks);
    buf_fini(&text);
    free(log);
    free(dir);
}

static void what_is_no_job_is_refused(void **state)
{
    (void)state;
    job_view v;
    error err = ERROR_INIT;
    char *dir = folder_file("none");
    assert_int_equal(job_view_open(dir, &v, &err), E_DATA);
    assert_non_null(strstr(err.text, "is no job dir: it has no job.json"));
    assert_false(fs_exists(dir));
    free(dir);
}

/* Why it was not found is said as it is: a path that leads in a circle is no missing file. */
static void what_cannot_be_looked_at_is_told_so(void **state)
{
    (void)state;
    job_view v;
    error err = ERROR_INIT;
    char *dir = folder_file("circle");
    assert_int_equal(symlink(dir, dir), 0);
    assert_int_equal(job_view_open(dir, &v, &err), E_DATA);
    assert_non_null(strstr(err.text, strerror(ELOOP)));
    assert_null(strstr(err.text, "is no job dir"));
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_grow_and_go_back),
        cmocka_unit_test(logs_are_those_listed),
        cmocka_unit_test(what_is_no_job_is_refused),
        cmocka_unit_test(what_cannot_be_looked_at_is_told_so),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
