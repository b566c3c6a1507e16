/* Indexes that are kept: made once by several processes, mapped by all, and never believed when they are
 * torn, damaged or another file's; inflated files likewise; folders, patterns and empty files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/index/index.h"
#include "data/index/record_set.h"
#include "support/folder.h"
#include "unit/data/support_cache.h"
#include "unit/data/support_idx.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 100000 };

static void add_lines(buf *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        buf_addf(b, "{\"number\": %lld}\n", (long long)i);
}

static char *big_file(const char *name)
{
    buf b = BUF_INIT;
    add_lines(&b, LINES);
    char *path = test_file(folder_path(), name, &b);
    assert_true(b.size > INDEX_KEPT_BYTES);
    buf_fini(&b);
    return path;
}

static void open_index(const char *path, fs_map *map, record_index *ret)
{
    struct stat info;
    cache_key key;
    error err = ERROR_INIT;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(fs_map_open(path, map, &err), OK);
    cache_key_make(path, NULL, info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec, map->data, map->bytes,
                   &key);
    record_source s = {.name = path, .data = map->data, .bytes = map->bytes};
    if (index_open(RECORD_LINES, &s, &key, 0, ret, &err) != OK)
        fail_msg("%s", err.text);
}

/* Opens it, checks it, and says whether it was made anew. */
static bool is_made_anew(const char *path, size_t n)
{
    fs_map map;
    record_index x;
    open_index(path, &map, &x);
    assert_int_equal(x.n, n);
    char want[64];
    for (size_t i = 0; i < n; i += 997) {
        snprintf(want, sizeof want, "{\"number\": %zu}", i);
        assert_int_equal(x.at[i].bytes, strlen(want));
        assert_memory_equal(map.data + x.at[i].at, want, strlen(want));
    }
    bool is_new = x.is_new;
    index_close(&x);
    fs_map_close(&map);
    return is_new;
}

static void test_an_index_is_kept_and_never_believed(void **state)
{
    char *path = big_file("kept.jsonl");
    assert_true(is_made_anew(path, LINES));
    assert_false(is_made_anew(path, LINES));
    char *kept = cache_kept_file(*state, ".index");
    struct stat info;
    assert_int_equal(stat(kept, &info), 0);
    assert_true(info.st_size <= LINES * 16 + 4096);
    cache_damage(kept, 5000, false);
    assert_true(is_made_anew(path, LINES));
    cache_damage(kept, 30, false); /* the head */
    assert_true(is_made_anew(path, LINES));
    cache_damage(kept, -1, true);
    assert_true(is_made_anew(path, LINES));
    assert_int_equal(truncate(kept, info.st_size / 2), 0);
    assert_true(is_made_anew(path, LINES));
    assert_int_equal(truncate(kept, 0), 0);
    assert_true(is_made_anew(path, LINES));
    assert_false(is_made_anew(path, LINES));
    free(kept);
    free(path);
}

/* Another file of the same name, and then of the same size and time too. */
static void test_another_file_has_another_index(void **state)
{
    (void)state;
    char *path = big_file("other.jsonl");
    assert_true(is_made_anew(path, LINES));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    buf b = BUF_INIT;
    add_lines(&b, LINES);
    add_lines(&b, 1);
    free(test_file(folder_path(), "other.jsonl", &b));
    fs_map map;
    record_index x;
    open_index(path, &map, &x);
    assert_true(x.is_new);
    assert_int_equal(x.n, LINES + 1);
    index_close(&x);
    fs_map_close(&map);
    assert_int_equal(truncate(path, info.st_size), 0);
    cache_damage(path, 1, false); /* `"number` */
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){info.st_atim, info.st_mtim}, 0), 0);
    open_index(path, &map, &x);
    assert_true(x.is_new);
    assert_int_equal(x.n, LINES);
    index_close(&x);
    fs_map_close(&map);
    buf_fini(&b);
    free(path);
}

static bool makes_index(void *user)
{
    return is_made_anew(user, LINES);
}

/* Of processes that begin at once one makes it. */
static void test_one_process_makes_it(void **state)
{
    (void)state;
    char *path = big_file("shared.jsonl");
    assert_int_equal(cache_makers(6, makes_index, path), 1);
    free(path);
}

static void test_without_a_cache(void **state)
{
    (void)state;
    char *path = big_file("alone.jsonl"), *file = folder_file("no-folder");
    buf b = {.data = (char *)(uintptr_t)"x", .size = 1};
    free(test_file(folder_path(), "no-folder", &b));
    setenv("TEQUIO_CACHE", file, 1);
    assert_true(is_made_anew(path, LINES));
    assert_true(is_made_anew(path, LINES));
    free(file);
    free(path);
}

/* What a killed process left is removed by the next that makes the file. */
static void test_leftovers_go(void **state)
{
    char *path = big_file("left.jsonl");
    assert_true(is_made_anew(path, LINES));
    char *kept = cache_kept_file(*state, ".index"), *left = fs_beside(kept);
    buf b = {.data = (char *)(uintptr_t)"half", .size = 4};
    free(test_file(*state, strrchr(left, '/') + 1, &b));
    assert_true(fs_exists(left));
    assert_int_equal(truncate(kept, 100), 0);
    assert_true(is_made_anew(path, LINES));
    assert_false(fs_exists(left));
    free(left);
    free(kept);
    free(path);
}

/* At most 16 bytes a record, and none in the heap of a process where the index is kept. */
static void test_memory(void **state)
{
    (void)state;
    char *path = big_file("memory.jsonl");
    enum { SLACK = 16 << 10 }; /* pages of the allocator */
    for (int kept = 1; kept >= 0; kept--) {
        fs_map map;
        record_index x;
        assert_true(is_made_anew(path, LINES));
        size_t before = cache_heap_bytes();
        open_index(path, &map, &x);
        assert_int_equal(x.n, LINES);
        assert_true(cache_heap_bytes() <= before + (kept ? SLACK : 16 * LINES + SLACK));
        index_close(&x);
        fs_map_close(&map);
        setenv("TEQUIO_CACHE", path, 1); /* no folder */
    }
    free(path);
}

/* --- data sets --- */

static record_set *must_open(const char *path)
{
    record_set *s = NULL;
    error err = ERROR_INIT;
    if (record_set_open(RECORD_LINES, path, &s, &err) != OK)
        fail_msg("%s", err.text);
    return s;
}

static void refuses(const char *path, const char *part)
{
    record_set *s = NULL;
    error err = ERROR_INIT;
    assert_int_equal(record_set_open(RECORD_LINES, path, &s, &err), E_DATA);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static void put(const char *folder, const char *name, const char *text, bool gzip)
{
    buf b = BUF_INIT;
    buf_adds(&b, text);
    if (gzip)
        idx_gzip(&b);
    error err = ERROR_INIT;
    assert_int_equal(fs_mkdirs(folder, &err), OK);
    char *path = test_file(folder, name, &b);
    free(path);
    buf_fini(&b);
}

static void expect_records(const record_set *s, const char *records)
{
    buf all = BUF_INIT;
    for (int64_t i = 0; i < record_set_count(s); i++) {
        size_t n;
        const unsigned char *data = record_set_at(s, i, &n);
        buf_addf(&all, "[%.*s]", (int)n, (const char *)data);
    }
    assert_string_equal(all.data, records);
    buf_fini(&all);
}

static void test_folders_and_patterns(void **state)
{
    (void)state;
    char *folder = folder_file("shards"), *pattern = folder_file("shards/part-*.jsonl"),
         *none = folder_file("none-*");
    put(folder, "part-0.jsonl", "a\nb\nc\n", false);
    put(folder, "part-1.jsonl", "", false);
    put(folder, "part-2.jsonl", "d\n", true);
    put(folder, "rest.jsonl", "\ne\n\nf", false);
    put(folder, "_SUCCESS", "", false);
    put(folder, ".part-0.crc", "zzz\n", false);
    record_set *s = must_open(folder);
    expect_records(s, "[a][b][c][d][e][f]");
    assert_int_equal(record_set_files(s), 4);
    buf place = BUF_INIT;
    record_set_place(s, 5, &place);
    assert_non_null(strstr(place.data, "rest.jsonl': line 4 (byte 4)"));
    buf_fini(&place);
    size_t n;
    record_set_read(s, 3, &n);
    record_set_read(s, 4, &n);
    assert_int_equal(record_set_bytes_read(s), 2);
    char all[SHA256_HEX], some[SHA256_HEX];
    record_set_lengths(s, 0, 6, all);
    record_set_lengths(s, 0, 5, some);
    assert_string_not_equal(all, some);
    record_set_close(&s);
    s = must_open(pattern);
    expect_records(s, "[a][b][c][d]");
    record_set_close(&s);
    refuses(none, "none fits the pattern");
    free(none);
    free(pattern);
    free(folder);
}

static void test_refusals(void **state)
{
    (void)state;
    char *empty = folder_file("empty"), *deep = folder_file("deep"), *below = folder_file("deep/below");
    put(empty, "a", "\n\n", false);
    put(empty, "b", "", false);
    refuses(empty, "holds no records: all its files are empty");
    put(below, "a", "x\n", false);
    refuses(deep, "is a folder within the folder of the data");
    char *only = folder_file("marks");
    put(only, "_SUCCESS", "", false);
    refuses(only, "holds no files of data");
    refuses("/nowhere/at/all", "/nowhere/at/all");
    free(only);
    free(below);
    free(deep);
    free(empty);
}

/* Random bytes as letters, so that a gzipped file is large. */
static void test_a_gzip_file_is_inflated_once(void **state)
{
    buf b = BUF_INIT;
    uint64_t x = 88172645463325252u;
    for (size_t line = 0; line < 40000; line++) {
        for (int i = 0; i < 60; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            buf_addf(&b, "%c", (int)('0' + x % 64));
        }
        buf_adds(&b, "\n");
    }
    buf plain = {.data = xstrndup(b.data, b.size), .size = b.size};
    idx_gzip(&b);
    assert_true(b.size > INDEX_KEPT_BYTES);
    char *path = test_file(folder_path(), "big.jsonl.gz", &b);
    for (int again = 0; again < 3; again++) {
        record_set *s = must_open(path);
        assert_int_equal(record_set_count(s), 40000);
        assert_int_equal(record_set_bytes(s), plain.size);
        for (int64_t i = 0; i < 40000; i += 333) {
            size_t n;
            assert_memory_equal(record_set_at(s, i, &n), plain.data + i * 61, 60);
        }
        record_set_close(&s);
        char *kept = cache_kept_file(*state, ".plain");
        if (again == 0)
            cache_damage(kept, -1, true);
        if (again == 1)
            assert_int_equal(truncate(kept, 1000), 0);
        free(kept);
    }
    b.data[b.size / 2] ^= 1;
    free(path);
    path = test_file(folder_path(), "damaged.jsonl.gz", &b);
    refuses(path, "damaged.jsonl.gz': damaged gzip data before byte");
    free(path);
    free(plain.data);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_index_is_kept_and_never_believed, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_another_file_has_another_index, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_one_process_makes_it, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_without_a_cache, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_leftovers_go, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_memory, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_folders_and_patterns, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_refusals, cache_fresh, cache_drop),
        cmocka_unit_test_setup_teardown(test_a_gzip_file_is_inflated_once, cache_fresh, cache_drop),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
