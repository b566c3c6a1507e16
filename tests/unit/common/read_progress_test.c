/* How far a reading is: in words, as a number that grows while it goes on, in the file that others wait for, and until
 * it is stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/read_progress.h"
#include "support/folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static read_progress *p;

static int set_up(void **state)
{
    (void)state;
    p = read_progress_create();
    read_progress_enter(p);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    read_progress_enter(NULL);
    read_progress_destroy(&p);
    return 0;
}

static uint64_t expect_text(const char *text)
{
    read_state s;
    read_progress_look(p, &s);
    assert_string_equal(s.text, text);
    return s.moves;
}

static void it_tells_how_far_it_is(void **state)
{
    (void)state;
    expect_text("");
    read_progress_begin("indexing", "train.jsonl", 10200 * 1000 * 1000ull, NULL);
    uint64_t before = expect_text("indexing 'train.jsonl': 0.0 of 10.2 GB");
    read_progress_add(3100 * 1000 * 1000ull);
    assert_true(expect_text("indexing 'train.jsonl': 3.1 of 10.2 GB") > before);
    read_progress_begin("reading all of", "a", 40, "records");
    read_progress_add(7);
    expect_text("reading all of 'a': 7 of 40 records");
    read_progress_begin("opening", "b", 0, NULL);
    before = expect_text("opening 'b'");
    read_progress_add(0);
    assert_true(expect_text("opening 'b'") > before);
    read_progress_add(2500000);
    expect_text("opening 'b': 2.5 MB");
}

static void of_a_long_path_the_end_is_told(void **state)
{
    (void)state;
    char path[301];
    memset(path, 'x', 300);
    memcpy(path + 290, "/end.jsonl", 10);
    path[300] = '\0';
    read_progress_begin("indexing", path, 5, "files");
    read_state s;
    read_progress_look(p, &s);
    assert_non_null(strstr(s.text, "xx/end.jsonl': 0 of 5 files"));
}

static void short_steps_are_told_together(void **state)
{
    (void)state;
    uint64_t told = 0;
    read_progress_begin("reading", "c", 0, "bytes");
    uint64_t before = expect_text("reading 'c'");
    for (uint64_t at = 0; at < READ_PROGRESS_STEP; at += 1000)
        read_progress_reach(&told, at);
    assert_int_equal(expect_text("reading 'c'"), before);
    read_progress_reach(&told, READ_PROGRESS_STEP + 5);
    assert_int_equal(told, READ_PROGRESS_STEP + 5);
    assert_true(expect_text("reading 'c': 1048581 bytes") > before);
}

static void what_is_stopped_says_so(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    assert_int_equal(read_progress_check(&err), OK);
    read_progress_stop(p);
    assert_int_equal(read_progress_check(&err), E_ABORTED);
    read_progress_enter(NULL); /* the process itself is not */
    assert_int_equal(read_progress_check(&err), OK);

    atomic_bool flag = false;
    read_progress *other = read_progress_create();
    read_progress_stop_by(other, &flag);
    read_progress_enter(other);
    assert_int_equal(read_progress_check(&err), OK);
    atomic_store(&flag, true);
    assert_int_equal(read_progress_check(&err), E_ABORTED);
    read_progress_enter(NULL);
    read_progress_destroy(&other);
}

static void *make_elsewhere(void *file)
{
    read_progress *maker = read_progress_create();
    read_progress_enter(maker);
    read_progress_begin("indexing", "d", 40, "records");
    read_progress_add(13);
    read_progress_share(*(int *)file);
    read_progress_unshare(*(int *)file);
    read_progress_destroy(&maker);
    return NULL;
}

static void who_waits_for_a_maker_tells_what_that_says(void **state)
{
    (void)state;
    char *path = folder_file("lock");
    int file = open(path, O_RDWR | O_CREAT, 0600);
    pthread_t maker;
    assert_true(file >= 0);
    read_progress_begin("opening", "d", 0, NULL);
    read_progress_follow(file); /* it has not said anything yet */
    expect_text("opening 'd'");
    assert_int_equal(pthread_create(&maker, NULL, make_elsewhere, &file), 0);
    pthread_join(maker, NULL);
    uint64_t before = expect_text("opening 'd'");
    read_progress_follow(file);
    uint64_t first = expect_text("waiting while another process is indexing 'd': 13 of 40 records");
    assert_true(first > before);
    read_progress_follow(file);
    assert_int_equal(expect_text("waiting while another process is indexing 'd': 13 of 40 records"), first);
    read_progress_share(file); /* now it is ours to make */
    expect_text("opening 'd'");
    read_progress_unshare(file);
    close(file);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_tells_how_far_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_a_long_path_the_end_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_steps_are_told_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_stopped_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waits_for_a_maker_tells_what_that_says, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
