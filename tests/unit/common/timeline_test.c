/* The timeline of a job: what is told is read, over starts; a disk that takes nothing, a torn end, a file that grows
 * large, and a start that has been followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/fs.h"
#include "common/store/timeline.h"
#include "support/folder.h"
#include "unit/common/support_jobdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct job {
    char *path;
    config *config;
    jobdir *dir;
} job;

static job begin(const char *name)
{
    job j = {.path = jobdir_place(name), .config = jobdir_config(NULL)};
    j.dir = jobdir_start((jobdir_request){.path = j.path, .config = j.config});
    return j;
}

static void end(job *j)
{
    jobdir_close(&j->dir);
    config_destroy(&j->config);
    free(j->path);
}

static void tell(timeline *t, const char *task, const char *text, int64_t step)
{
    timeline_add(t, &(timeline_event){
                        .kind = TIMELINE_LOST, .task = task, .text = text, .start = 1, .era = 65536, .step = step});
}

static json_t *read_all(const job *j, size_t most)
{
    json_t *list = NULL;
    error err = ERROR_INIT;
    assert_int_equal(timeline_read(j->dir, most, &list, &err), OK);
    return list;
}

static const char *word(const json_t *list, size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(list, i), key));
    return text ? text : "";
}

static void what_is_told_is_read(void **state)
{
    (void)state;
    job j = begin("told");
    json_t *list = read_all(&j, 10);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    for (int start = 0; start < 2; start++) {
        timeline *t = timeline_begin(j.dir);
        tell(t, "worker.1", "one", 7);
        tell(t, NULL, "of \xff", -1); /* no UTF-8 */
        timeline_end(&t);
        assert_null(t);
    }
    list = read_all(&j, 3);
    assert_int_equal(json_array_size(list), 3);
    assert_string_equal(word(list, 1, "kind"), "lost");
    assert_string_equal(word(list, 1, "task"), "worker.1");
    assert_string_equal(word(list, 1, "text"), "one");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "step")), 7);
    assert_null(json_object_get(json_array_get(list, 2), "step"));
    assert_string_equal(word(list, 2, "text"), "of ?");
    json_decref(list);
    end(&j);
}

static void half_a_line_goes(void **state)
{
    (void)state;
    job j = begin("torn");
    jobdir_put(j.path, TIMELINE_FILE, "{\"text\": \"a\"}\nno event\n[1]\n{\"text\": \"b\"}\n{\"te");
    json_t *list = read_all(&j, 10);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(word(list, 1, "text"), "b");
    json_decref(list);
    timeline *t = timeline_begin(j.dir);
    tell(t, NULL, "c", 1);
    timeline_end(&t);
    list = read_all(&j, 10);
    assert_int_equal(json_array_size(list), 3);
    assert_string_equal(word(list, 2, "text"), "c");
    json_decref(list);
    end(&j);
}

/* A folder stands in its place: nothing can be written, until it is gone. */
static void what_cannot_be_written_waits(void **state)
{
    (void)state;
    job j = begin("waits");
    char *path = jobdir_file(j.dir, TIMELINE_FILE), *inside = jobdir_file(j.dir, TIMELINE_FILE "/x");
    error err = ERROR_INIT;
    assert_int_equal(fs_mkdirs(inside, &err), OK);
    timeline *t = timeline_begin(j.dir);
    for (int64_t i = 0; i < 5000; i++)
        tell(t, "ps.0", "this is more than what may wait in memory", i);
    assert_int_equal(rmdir(inside), 0);
    assert_int_equal(rmdir(path), 0);
    timeline_flush(t);
    tell(t, "ps.0", "it is well", 5000);
    timeline_end(&t);
    json_t *list = read_all(&j, 10000);
    size_t n = json_array_size(list);
    assert_true(n > 1000 && n < 5000);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "step")), 0);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, n - 1), "left_out")), 5000 - (n - 1));
    json_decref(list);
    free(inside);
    free(path);
    end(&j);
}

static void a_large_file_loses_its_older_half(void **state)
{
    (void)state;
    static char text[400];
    job j = begin("large");
    struct stat info;
    char *path = jobdir_file(j.dir, TIMELINE_FILE);
    memset(text, 'x', sizeof text - 1);
    timeline *t = timeline_begin(j.dir);
    for (int64_t i = 0; i < 12000; i++)
        tell(t, "ps.0", text, i);
    timeline_end(&t);
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size > (2 << 20) && info.st_size < (5 << 20));
    json_t *list = read_all(&j, 20000);
    size_t n = json_array_size(list);
    assert_true(n > 4000 && n < 12000);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "step")), 12000 - n + i);
    json_decref(list);
    free(path);
    end(&j);
}

/* The one that was followed writes into a file that has lost its name. */
static void who_was_followed_tells_nobody(void **state)
{
    (void)state;
    job j = begin("followed");
    timeline *old = timeline_begin(j.dir), *new = timeline_begin(j.dir);
    tell(old, NULL, "a", 1);
    tell(new, NULL, "b", 2);
    tell(old, NULL, "c", 3);
    timeline_end(&old);
    timeline_end(&new);
    json_t *list = read_all(&j, 10);
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(word(list, 1, "text"), "b");
    json_decref(list);
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_read),
        cmocka_unit_test(half_a_line_goes),
        cmocka_unit_test(what_cannot_be_written_waits),
        cmocka_unit_test(a_large_file_loses_its_older_half),
        cmocka_unit_test(who_was_followed_tells_nobody),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
