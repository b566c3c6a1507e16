/* Where examples stand, as each reader says it: file and line, or the number that people find it by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/data.h"
#include "support/folder.h"
#include "unit/data/support_config.h"
#include "unit/data/support_idx.h"

#include <stdlib.h>
#include <string.h>

static dataset *must_open(const char *reader, const char *path)
{
    config *c = test_config(reader);
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (dataset_open(config_section(c, "dataset_reader"), path, &d, &err) != OK)
        fail_msg("%s", err.text);
    config_destroy(&c);
    return d;
}

/* `expected` stands behind the file's name, or alone where there is none in it. */
static void expect_place(const char *reader, const char *path, const char *file, int64_t example, const char *expected)
{
    dataset *d = must_open(reader, path);
    buf place = BUF_INIT;
    char *whole = file ? xasprintf("'%s'%s", file, expected) : xstrdup(expected);
    dataset_place(d, example, &place);
    assert_string_equal(place.data, whole);
    free(whole);
    buf_fini(&place);
    dataset_close(&d);
}

static char *file_of(const char *name, const char *text, size_t bytes)
{
    buf b = BUF_INIT;
    buf_add(&b, text, bytes);
    char *path = test_file(folder_path(), name, &b);
    buf_fini(&b);
    return path;
}

static void test_tables(void **state)
{
    (void)state;
    static const char rows[] = "a,b\n1,x\n\n2,\"two\nlines\"\n3,y\n";
    char *path = file_of("table.csv", rows, strlen(rows));
    expect_place("{type: 'csv', numeric: ['a']}", path, path, 0, ": line 2");
    expect_place("{type: 'csv', numeric: ['a']}", path, path, 1, ": line 4");
    expect_place("{type: 'csv', numeric: ['a']}", path, path, 2, ": line 6");
    expect_place("{type: 'csv', numeric: ['a'], range: [0.5, 1]}", path, path, 0, ": line 4");
    free(path);
}

static void test_records(void **state)
{
    (void)state;
    static const char reader[] = "{type: 'jsonl', fields: [{name: 'x', type: 'number'}]}";
    static const char lines[] = "{\"x\": 1}\n\n{\"x\": 2}\n";
    char *path = file_of("lines.jsonl", lines, strlen(lines));
    expect_place(reader, path, path, 1, ": line 3 (byte 10)");
    free(path);
}

static void test_sentences(void **state)
{
    (void)state;
    static const char words[] = "Ana NNP B-NP I-PER\nmet VBD B-VP O\n\nRain NN B-NP O\n";
    char *path = file_of("words.conll", words, strlen(words));
    expect_place("{type: 'conll2003'}", path, path, 1, ": line 4");
    free(path);
}

static void test_pictures(void **state)
{
    (void)state;
    enum { RECORD = 3073 };
    static const char records[3 * RECORD];
    char *path = test_pair(folder_path(), 4, 2, 2);
    expect_place("{type: 'idx'}", path, path, 3, ": index 3");
    free(path);
    path = file_of("data_batch_1.bin", records, RECORD);
    free(path);
    path = file_of("data_batch_2.bin", records, 2 * RECORD);
    expect_place("{type: 'cifar10'}", folder_path(), path, 2, ": index 1");
    free(path);
}

static void test_texts(void **state)
{
    (void)state;
    char *path = file_of("text", "0123456789", 10);
    expect_place("{type: 'text', context: 3}", path, NULL, 2, "token 6");
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_records), cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_pictures),  cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
