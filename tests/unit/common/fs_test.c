#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "support/folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void put(const char *path, const char *text)
{
    error err = ERROR_INIT;
    if (fs_write_atomic(path, text, strlen(text), &err) != OK)
        fail_msg("%s", err.text);
}

static void assert_content(const char *path, const char *want)
{
    buf b = BUF_INIT;
    error err = ERROR_INIT;
    if (fs_read(path, 1 << 20, &b, &err) != OK)
        fail_msg("%s", err.text);
    assert_string_equal(b.data, want);
    buf_fini(&b);
}

static size_t count(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(dir, &names, &n, NULL), OK);
    fs_list_free(names, n);
    return n;
}

static void assert_ends(const error *err, const char *want)
{
    size_t have = strlen(err->text), length = strlen(want);
    if (have < length || strcmp(err->text + have - length, want) != 0)
        fail_msg("'%s' does not end in '%s'", err->text, want);
}

static void written_content_is_read(void **state)
{
    (void)state;
    char *path = folder_file("file");
    put(path, "one");
    assert_content(path, "one");
    put(path, "two and more");
    assert_content(path, "two and more");
    put(path, "");
    assert_content(path, "");
    assert_int_equal(count(folder_path()), 1); /* no temporary files stay */

    buf b = BUF_INIT;
    buf_adds(&b, "before ");
    put(path, "12345");
    assert_int_equal(fs_read(path, 5, &b, NULL), OK);
    assert_string_equal(b.data, "before 12345");
    error err = ERROR_INIT;
    assert_int_equal(fs_read(path, 4, &b, &err), E_DATA);
    assert_ends(&err, "file': larger than 4 bytes");
    assert_string_equal(b.data, "before 12345");
    buf_fini(&b);
    unlink(path);
    free(path);
}

/* Which another name would mend, and what the machine is short of. */
static void what_cannot_be_read_has_the_code_of_its_cause(void **state)
{
    (void)state;
    char *path = folder_file("nowhere");
    buf b = BUF_INIT;
    error err = ERROR_INIT;
    assert_int_equal(fs_read(path, 4, &b, &err), E_DATA);
    assert_ends(&err, "nowhere': No such file or directory");
    assert_int_equal(fs_read(folder_path(), 4, &b, NULL), E_DATA);
    assert_int_equal(fs_read_config("job file", path, 4, &b, NULL), E_CONFIG);
    put(path, "here");
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status st = fs_read(path, 4, &b, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(st, E_IO);
    buf_fini(&b);
    unlink(path);
    free(path);
}

/* A disk that is full: here a limit on the size of files. */
static void old_content_stays_when_writing_fails(void **state)
{
    (void)state;
    char *path = folder_file("kept");
    put(path, "old content");
    char *large = calloc(1, 1 << 20);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1 << 16;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    error err = ERROR_INIT;
    status st = fs_write_atomic(path, large, 1 << 20, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(st, E_IO);
    assert_ends(&err, "File too large");
    assert_content(path, "old content");
    assert_int_equal(count(folder_path()), 1);
    unlink(path);
    free(large);
    free(path);
}

static void a_place_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    char *absent = folder_file("absent/file"), *dir = folder_file("dir");
    error err = ERROR_INIT;
    assert_int_equal(fs_write_atomic(absent, "x", 1, &err), E_IO);
    assert_memory_equal(err.text, "create '", 8);
    assert_ends(&err, "No such file or directory");
    assert_int_equal(fs_mkdirs(dir, NULL), OK);
    error_clear(&err);
    assert_int_equal(fs_write_atomic(dir, "x", 1, &err), E_IO);
    assert_ends(&err, "dir': Is a directory");
    assert_int_equal(count(folder_path()), 1);
    assert_int_equal(fs_remove_tree(dir, NULL), OK);
    free(absent);
    free(dir);
}

enum { WRITES = 50, TEXT = 20000 };

static void *write_often(void *arg)
{
    const char *path = ((char **)arg)[0], *text = ((char **)arg)[1];
    for (int i = 0; i < WRITES; i++)
        if (fs_write_atomic(path, text, TEXT, NULL) != OK)
            return arg;
    return NULL;
}

/* Two threads write one file; it is always wholly of one of them. */
static void writers_do_not_mix(void **state)
{
    (void)state;
    char *path = folder_file("shared"), *a = xmalloc(TEXT + 1), *b = xmalloc(TEXT + 1);
    memset(a, 'a', TEXT);
    memset(b, 'b', TEXT);
    put(path, "");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_often, (char *[]){path, a}), 0);
    void *failed = write_often((char *[]){path, b}), *other_failed = NULL;
    pthread_join(thread, &other_failed);
    assert_null(failed);
    assert_null(other_failed);
    buf text = BUF_INIT;
    assert_int_equal(fs_read(path, TEXT, &text, NULL), OK);
    assert_int_equal(text.size, TEXT);
    assert_true(memcmp(text.data, a, TEXT) == 0 || memcmp(text.data, b, TEXT) == 0);
    buf_fini(&text);
    unlink(path);
    free(path);
    free(a);
    free(b);
}

static void what_a_killed_writer_left_is_removed(void **state)
{
    (void)state;
    static const char *const names[] = {"kept", "also"};
    char *dir = folder_file("left");
    assert_int_equal(fs_mkdir(dir, 1, NULL), OK);
    static const struct {
        const char *name;
        bool stays;
    } files[] = {
        {"kept", true},
        {"kept.json.tmp.0123456789abcdef", false},
        {"also.tmp.0123456789abcdef", false},
        {"other.tmp.0123456789abcdef", true},
        {"kept.tmp.0123456789abcdeg", true},
        {"kept.tmp.01234567", true},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = xasprintf("%s/%s", dir, files[i].name);
        put(path, "x");
        free(path);
    }
    fs_remove_beside(dir, names, 2);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = xasprintf("%s/%s", dir, files[i].name);
        if (fs_exists(path) != files[i].stays)
            fail_msg("%s", files[i].name);
        free(path);
    }
    fs_remove_beside("/nowhere/at/all", names, 2);
    assert_int_equal(fs_remove_tree(dir, NULL), OK);
    free(dir);
}

typedef struct sweeper {
    const char *dir;
    int *n_left; /* sweeps still to come */
} sweeper;

static status sweep(const void *user, error *err)
{
    static const char *const names[] = {"file"};
    const sweeper *s = user;
    (void)err;
    if (*s->n_left == 0)
        return OK;
    --*s->n_left;
    fs_remove_beside(s->dir, names, 1);
    assert_int_equal(count(s->dir), 0);
    return OK;
}

static void a_writer_at_work_outlives_sweeps(void **state)
{
    (void)state;
    char *dir = folder_file("swept"), *path = xasprintf("%s/file", dir);
    int n_left = 4;
    error err = ERROR_INIT;
    assert_int_equal(fs_mkdir(dir, 1, NULL), OK);
    if (fs_write_guarded(path, "whole", 5, sweep, &(sweeper){dir, &n_left}, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(n_left, 0);
    assert_content(path, "whole");
    assert_int_equal(count(dir), 1);
    assert_int_equal(fs_remove_tree(dir, NULL), OK);
    free(path);
    free(dir);
}

static void folders_are_made_and_removed(void **state)
{
    (void)state;
    char *deep = folder_file("a/b//c/"), *top = folder_file("a"), *file = folder_file("a/b/f");
    char *below = folder_file("a/b/f/g"), *link = folder_file("a/link");
    error err = ERROR_INIT;
    assert_int_equal(fs_mkdirs(deep, &err), OK);
    assert_int_equal(fs_mkdirs(deep, &err), OK);
    assert_true(fs_exists(deep));
    assert_int_equal(count(deep), 0);
    assert_int_equal(count(top), 1);

    put(file, "x");
    assert_int_equal(fs_mkdirs(file, &err), E_IO);
    assert_ends(&err, "a/b/f': a file of that name is there");
    error_clear(&err);
    assert_int_equal(fs_mkdirs(below, &err), E_IO);
    assert_ends(&err, "a/b/f': a file of that name is there");
    error_clear(&err);
    assert_int_equal(fs_mkdirs("", &err), E_IO);
    assert_string_equal(err.text, "create folder '': No such file or directory");
    error_clear(&err);
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(file, &names, &n, &err), E_IO);
    assert_ends(&err, "Not a directory");

    /* a link is removed, not what it leads to */
    char *outside = folder_file("outside");
    put(outside, "stays");
    assert_int_equal(symlink(folder_path(), link), 0);
    assert_int_equal(fs_remove_tree(top, NULL), OK);
    assert_false(fs_exists(top));
    assert_content(outside, "stays");
    assert_int_equal(fs_remove_tree(top, NULL), OK);
    unlink(outside);
    char *all[] = {deep, top, file, below, link, outside};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        free(all[i]);
}

static void lists_are_sorted(void **state)
{
    (void)state;
    const char *const names[] = {"b", "a", "step-10", "step-9", ".hidden"};
    const char *const sorted[] = {".hidden", "a", "b", "step-10", "step-9"};
    for (size_t i = 0; i < 5; i++) {
        char *path = folder_file("%s", names[i]);
        put(path, "x");
        free(path);
    }
    char **got = NULL;
    size_t n = 0;
    assert_int_equal(fs_list(folder_path(), &got, &n, NULL), OK);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(got[i], sorted[i]);
        char *path = folder_file("%s", got[i]);
        unlink(path);
        free(path);
    }
    fs_list_free(got, n);
    fs_list_free(NULL, 0);
    error err = ERROR_INIT;
    assert_int_equal(fs_list("/proc/self/no-such-folder", &got, &n, &err), E_IO);
    assert_string_equal(err.text,
                        "open folder '/proc/self/no-such-folder': No such file or directory");
}

static void maps_show_the_file(void **state)
{
    (void)state;
    char *path = folder_file("mapped");
    fs_map map;
    error err = ERROR_INIT;
    put(path, "0123456789");
    assert_int_equal(fs_map_open(path, &map, &err), OK);
    assert_int_equal(map.bytes, 10);
    put(path, "replaced"); /* the map keeps the old file */
    assert_memory_equal(map.data, "0123456789", 10);
    fs_map_close(&map);
    assert_null(map.data);
    fs_map_close(&map);
    put(path, "");
    assert_int_equal(fs_map_open(path, &map, &err), OK);
    assert_null(map.data);
    assert_int_equal(map.bytes, 0);
    fs_map_close(&map);
    assert_int_equal(fs_map_open(folder_path(), &map, &err), E_DATA);
    assert_ends(&err, "not a regular file");
    unlink(path);
    error_clear(&err);
    assert_int_equal(fs_map_open(path, &map, &err), E_DATA);
    assert_ends(&err, "mapped': No such file or directory");
    free(path);
}

static void failed_writes_say_where(void **state)
{
    (void)state;
    error err = ERROR_INIT;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fs_write_all(fd, "x", 1, "/dev/full", &err), E_DISK);
    assert_string_equal(err.text, "write '/dev/full': No space left on device");
    close(fd);
    error_clear(&err);
    assert_int_equal(fs_sync_dir("/proc/self/no-such-folder", &err), E_IO);
    assert_ends(&err, "No such file or directory");
    assert_int_equal(fs_sync_dir(folder_path(), NULL), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_content_is_read),
        cmocka_unit_test(what_cannot_be_read_has_the_code_of_its_cause),
        cmocka_unit_test(old_content_stays_when_writing_fails),
        cmocka_unit_test(a_place_that_cannot_be_written_is_named),
        cmocka_unit_test(writers_do_not_mix),
        cmocka_unit_test(what_a_killed_writer_left_is_removed),
        cmocka_unit_test(a_writer_at_work_outlives_sweeps),
        cmocka_unit_test(folders_are_made_and_removed),
        cmocka_unit_test(lists_are_sorted),
        cmocka_unit_test(maps_show_the_file),
        cmocka_unit_test(failed_writes_say_where),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
