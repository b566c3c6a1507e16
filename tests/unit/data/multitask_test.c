/* Several readers as one: fields, the number of the task, weights over the epochs, vocabularies, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A = 6, B = 3 };

#define READER(kind) "{type: 'jsonl', fields: [{name: 'x', type: 'integer'}, {name: 'label', type: '" kind "'}]}"
static const char both[] = "readers: [{name: 'a', reader: " READER("word") "},"
                           " {name: 'b', path: 'b.jsonl', reader: " READER("word") "}]";

static void write_lines(const char *name, int first, int n, const char *const labels[2])
{
    char *path = xasprintf("%s/%s", folder_path(), name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (int i = first; i < first + n; i++)
        fprintf(f, "{\"x\": %d, \"label\": \"%s\"}\n", i, labels[i % 2]);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static int write_files(void **state)
{
    static const char *const yes_no[] = {"no", "yes"}, *const other[] = {"no", "perhaps"};
    if (folder_set_up(state) != 0)
        return -1;
    write_lines("a", 0, A, yes_no);
    write_lines("b.jsonl", 100, B, yes_no);
    write_lines("other", 0, A, other);
    return 0;
}

static status opens(const char *more, const char *vocabulary, dataset **ret, error *err)
{
    char *reader = xasprintf("{%s} + {%s}", both, more);
    const dataset_options how = {.vocabulary = vocabulary};
    status st = records_open_path("multitask", reader, folder_path(), &how, ret, err);
    free(reader);
    return st;
}

static dataset *must_open(const char *more, const char *vocabulary)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (opens(more, vocabulary, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

static void refuses(const char *more, const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_true(opens(more, NULL, &d, &err) != OK);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

/* As AllenNLP names the data of each reader. */
static void test_paths_by_name(void **state)
{
    (void)state;
    char *paths = xasprintf("{\"b\": \"%s/b.jsonl\", \"a\": \"%s/other\"}", folder_path(), folder_path());
    static const char reader[] = "{readers: [{name: 'a', reader: " READER("word") "},"
                                 " {name: 'b', reader: " READER("word") "}]}";
    static const struct {
        const char *paths, *part;
    } bad[] = {
        {"{\"a\": \"x\"", "the paths of readers"},
        {"{\"a\": 3}", "the path of the reader 'a': got an integer; expected a string"},
        {"{\"b\": \"x\"}", "dataset_reader.readers[0]: the data have no path for the reader 'a'"},
    };
    const dataset_options how = {.vocabulary = NULL};
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (records_open_path("multitask", reader, paths, &how, &d, &err) != OK)
        fail_msg("%s", err.text);
    assert_int_equal(dataset_examples(d), A + B);
    dataset_close(&d);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        error_clear(&err);
        assert_int_equal(records_open_path("multitask", reader, bad[i].paths, &how, &d, &err), E_CONFIG);
        if (!strstr(err.text, bad[i].part))
            fail_msg("message \"%s\" lacks \"%s\"", err.text, bad[i].part);
    }
    char *more = xasprintf("{\"a\": \"%s/other\", \"b\": \"%s/b.jsonl\", \"c\": \"y\"}", folder_path(), folder_path());
    error_clear(&err);
    assert_int_equal(records_open_path("multitask", reader, more, &how, &d, &err), E_CONFIG);
    assert_non_null(strstr(err.text, "dataset_reader.readers: none is called 'c', as the data 'y' are"));
    free(more);
    free(paths);
}

/* Sentences of one file are longer than those of another: what the shorter ones lack is filled up. */
static void test_unlike_lengths(void **state)
{
    (void)state;
    static const char *const texts[] = {"one NN O O\n", "one NN O B-A\ntwo NN O O\nthree NN O O\n"};
    static const char *const names[] = {"short.conll", "long.conll"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = xasprintf("%s/%s", folder_path(), names[i]);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fputs(texts[i], f);
        assert_int_equal(fclose(f), 0);
        free(path);
    }
    const dataset_options how = {.vocabulary = NULL};
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (records_open_path("multitask", "{readers: [{name: 'short.conll', reader: 'conll2003'},"
                                       " {name: 'long.conll', reader: 'conll2003'}], dataset_field_name: 'task'}",
                          folder_path(), &how, &d, &err) != OK)
        fail_msg("%s", err.text);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 4);
    assert_int_equal(f[0].dim[0], 3);
    assert_int_equal(f[0].tokens, 5);
    assert_int_equal(f[2].classes, 2);
    int64_t ids[3], mask[3], label[3], task;
    assert_int_equal(dataset_read(d, 0, (void *[]){ids, mask, label, &task}, NULL), OK);
    assert_memory_equal(ids, ((int64_t[]){2, 0, 0}), sizeof ids);
    assert_memory_equal(mask, ((int64_t[]){1, 0, 0}), sizeof mask);
    assert_memory_equal(label, ((int64_t[]){0, -100, -100}), sizeof label);
    assert_int_equal(dataset_read(d, 1, (void *[]){ids, mask, label, &task}, NULL), OK);
    assert_memory_equal(mask, ((int64_t[]){1, 1, 1}), sizeof mask);
    assert_int_equal(task, 1);
    dataset_close(&d);
}

static void test_one_behind_the_other(void **state)
{
    (void)state;
    dataset *d = must_open("dataset_field_name: 'task'", NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 3);
    assert_string_equal(f[2].name, "task");
    assert_int_equal(f[1].classes, 2);
    assert_int_equal(dataset_examples(d), A + B);
    for (int64_t i = 0; i < A + B; i++) {
        int64_t x, label, task;
        assert_int_equal(dataset_of_epoch(d, 5, i), i);
        assert_int_equal(dataset_read(d, i, (void *[]){&x, &label, &task}, NULL), OK);
        assert_int_equal(x, i < A ? i : 100 + i - A);
        assert_int_equal(label, x % 2);
        assert_int_equal(task, i >= A);
    }
    buf word = BUF_INIT;
    assert_true(dataset_label_word(d, 1, &word));
    assert_string_equal(word.data, "yes");
    buf_fini(&word);
    dataset_close(&d);
}

/* Of task a half an epoch, of task b twice: over two epochs each of a once, in each epoch each of b twice. */
static void test_weights(void **state)
{
    (void)state;
    dataset *d = must_open("weights: [0.5, 2]", NULL);
    assert_int_equal(dataset_examples(d), A / 2 + 2 * B);
    int of_a[A] = {0};
    for (int64_t epoch = 0; epoch < 4; epoch++) {
        int of_b[B] = {0};
        for (int64_t i = 0; i < dataset_examples(d); i++) {
            int64_t x, label;
            assert_int_equal(dataset_read(d, dataset_of_epoch(d, epoch, i), (void *[]){&x, &label}, NULL), OK);
            if (i < A / 2)
                of_a[x]++;
            else
                of_b[x - 100]++;
        }
        for (int i = 0; i < B; i++)
            assert_int_equal(of_b[i], 2);
        for (int i = 0; i < A; i++)
            assert_true(epoch % 2 == 0 || of_a[i] == (epoch + 1) / 2);
    }
    dataset_close(&d);
}

static void test_each_has_its_vocabulary(void **state)
{
    (void)state;
    dataset *d = must_open("", NULL);
    char *vocabulary = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    assert_non_null(strstr(vocabulary, "{\"tasks\":{\"a\":\"{"));
    d = must_open("", vocabulary);
    assert_string_equal(dataset_vocabulary(d), vocabulary);
    dataset_close(&d);
    free(vocabulary);
    refuses("readers: [{name: 'a', reader: " READER("word") "}, {name: 'none', reader: " READER("word") "}]",
            "/none'");
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("weights: [1]", "weights: 1 weights for 2 readers");
    refuses("readers: []", "readers: has 0; expected 1 to 64");
    refuses("readers: [{name: 'a', reader: " READER("word") "}, {name: 'a', reader: " READER("word") "}]",
            "'a' is the name of another task already");
    refuses("readers: [{name: 'a', reader: " READER("word") "}, {name: 'other', reader: {type: 'jsonl', fields: ["
            "{name: 'x', type: 'integer'}]}}]",
            "readers[1]: its fields are not those of the first reader: field 'label'");
    refuses("readers: [{name: 'a', reader: " READER("word") "}, {name: 'other', reader: {type: 'jsonl', fields: ["
            "{name: 'x', type: 'number'}, {name: 'label', type: 'word'}]}}]",
            "readers[1]: its fields are not those of the first reader: field 'x'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_by_name),
        cmocka_unit_test(test_unlike_lengths),
        cmocka_unit_test(test_one_behind_the_other),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_each_has_its_vocabulary),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, write_files, folder_tear_down);
}
