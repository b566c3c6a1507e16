#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/base/log.h"
#include "common/base/thread.h"
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the file holds after the lines `write` logs, without their times. */
static void log_to(const char *path, void (*write)(void), buf *ret)
{
    unlink(path);
    assert_int_equal(log_open_file(path, NULL), OK);
    write();
    log_close_file();
    buf text = BUF_INIT;
    assert_int_equal(fs_read(path, 1 << 22, &text, NULL), OK);
    for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        assert_true(end - line > 13);
        assert_true(line[2] == ':' && line[5] == ':' && line[8] == '.' && line[12] == ' ');
        buf_add(ret, line + 13, (size_t)(end + 1 - line) - 13);
    }
    buf_fini(&text);
}

static void some_lines(void)
{
    log_set_level(LOG_INFO);
    LOG_I("STEP", "loss=%.2f step=%d", 2.31, 40);
    LOG_D("HIDDEN", "not at this level");
    log_set_task("worker.3");
    LOG_E("PEER", "says 'a\nb\tc'");
    log_set_level(LOG_DEBUG);
    LOG_D("SHOWN", "%s", "");
    log_set_level(LOG_ERROR);
    LOG_W("HIDDEN", "not at this level");
    log_set_level(LOG_INFO);
    log_set_task("tequio");
}

static void lines_have_task_level_and_id(void **state)
{
    (void)state;
    char *path = folder_file("log");
    buf got = BUF_INIT;
    log_to(path, some_lines, &got);
    assert_string_equal(got.data, "tequio info STEP loss=2.31 step=40\n"
                                  "worker.3 error PEER says 'a b c'\n"
                                  "worker.3 debug SHOWN \n");
    buf_fini(&got);
    free(path);
}

static void a_long_line(void)
{
    char text[3 * ERROR_TEXT];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    LOG_I("LONG", "%s", text);
    LOG_I("NEXT", "still here");
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    char *path = folder_file("log");
    buf got = BUF_INIT;
    log_to(path, a_long_line, &got);
    char *end = strchr(got.data, '\n');
    assert_true(end - got.data > ERROR_TEXT);
    assert_string_equal(end + 1, "tequio info NEXT still here\n");
    buf_fini(&got);
    free(path);
}

enum { LINES = 2000 };

static void *log_often(void *arg)
{
    for (int i = 0; i < LINES; i++)
        LOG_I("MANY", "%s", (const char *)arg);
    return arg;
}

static char twenty[] = "twenty letters a row";

static void two_threads(void)
{
    pthread_t thread;
    assert_int_equal(thread_start(&thread, "thread.1", log_often, twenty, NULL), OK);
    log_often(twenty);
    void *result = NULL;
    pthread_join(thread, &result);
    assert_ptr_equal(result, twenty);
}

static void threads_do_not_mix_their_lines(void **state)
{
    (void)state;
    char *path = folder_file("log");
    buf got = BUF_INIT;
    log_to(path, two_threads, &got);
    size_t ours = 0, theirs = 0;
    const char *mine = "tequio info MANY twenty letters a row\n";
    const char *other = "thread.1 info MANY twenty letters a row\n";
    for (const char *line = got.data; *line; line = strchr(line, '\n') + 1) {
        bool is_mine = strncmp(line, mine, strlen(mine)) == 0;
        assert_true(is_mine || strncmp(line, other, strlen(other)) == 0);
        ours += is_mine;
        theirs += !is_mine;
    }
    assert_int_equal(ours, LINES);
    assert_int_equal(theirs, LINES);
    buf_fini(&got);
    free(path);
}

static void a_log_that_cannot_be_opened_is_named(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    assert_int_equal(log_open_file("/proc/self/absent/log", &err), E_IO);
    assert_string_equal(err.text, "open log '/proc/self/absent/log': No such file or directory");
}

static void there_is_a_cpu(void **state)
{
    (void)state;
    assert_true(thread_cpus() >= 1);
}

/* What strangers cause is said once a second, and how much was not. */
static void test_a_pace(void **state)
{
    (void)state;
    log_pace p = {.next_us = 0};
    unsigned skipped = 7;
    assert_true(log_pace_allows(&p, 5000000, &skipped));
    assert_int_equal(skipped, 0);
    assert_false(log_pace_allows(&p, 5000000, &skipped));
    assert_false(log_pace_allows(&p, 5999999, &skipped));
    assert_true(log_pace_allows(&p, 6000000, &skipped));
    assert_int_equal(skipped, 2);
    assert_true(log_pace_allows(&p, 9000000, &skipped));
    assert_int_equal(skipped, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_task_level_and_id),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(threads_do_not_mix_their_lines),
        cmocka_unit_test(a_log_that_cannot_be_opened_is_named),
        cmocka_unit_test(there_is_a_cpu),
        cmocka_unit_test(test_a_pace),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
