/* Lines of JSON as examples: each kind of field, classes and words that are learned, and every refusal, by
 * file, line and field. CTest labels: tsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/log.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_cache.h"
#include "unit/data/support_idx.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const all_fields =
    "{fields: [{name: 'x', type: 'numbers', shape: [2, 2]}, {name: 'age', type: 'number'},"
    " {name: 'ids', type: 'integers', shape: [3], key: 'tokens'}, {name: 'n', type: 'integer'},"
    " {name: 'kind', type: 'word'}, {name: 'label', type: 'label'}]}";

static const char two[] = "{\"x\": [1, 2.5, -3, 4e2], \"age\": 7, \"tokens\": [1, 2, 9007199254740993], \"n\": "
                          "-5, \"kind\": \"owl\", \"label\": 2}\n"
                          "\n"
                          "{\"label\": 0, \"kind\": \"c\\u00e4t\", \"n\": 0, \"tokens\": [0, 0, 0], \"age\": "
                          "0.5, \"x\": [0, 0, 0, 0], \"other\": {}}";

static void test_fields(void **state)
{
    (void)state;
    dataset *d = records_must_open("jsonl", all_fields, two, NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 6);
    assert_int_equal(dataset_examples(d), 2);
    assert_string_equal(f[0].name, "x");
    assert_int_equal(f[0].rank, 2);
    assert_int_equal(f[0].dtype, DT_F32);
    assert_int_equal(f[2].dtype, DT_I64);
    assert_int_equal(f[2].dim[0], 3);
    assert_int_equal(f[3].rank, 0);
    assert_int_equal(f[4].classes, 2);
    assert_int_equal(f[5].classes, 3);
    float x[4], age;
    int64_t ids[3], number, kind, label;
    void *out[] = {x, &age, ids, &number, &kind, &label};
    assert_int_equal(dataset_read(d, 0, out, NULL), OK);
    assert_true(x[0] == 1.0f && x[1] == 2.5f && x[2] == -3.0f && x[3] == 400.0f && age == 7.0f);
    assert_true(ids[2] == 9007199254740993 && number == -5 && kind == 1 && label == 2);
    assert_int_equal(dataset_read(d, 1, out, NULL), OK);
    assert_true(age == 0.5f && kind == 0 && label == 0);
    buf word = BUF_INIT;
    assert_true(dataset_label_word(d, 0, &word));
    assert_string_equal(word.data, "c\xc3\xa4t");
    buf_fini(&word);
    assert_string_equal(dataset_vocabulary(d), "{\"label\":{\"kind\":[\"c\xc3\xa4t\",\"owl\"],\"label\":3}}");
    assert_true(dataset_bytes_read(d) > 0 && dataset_bytes_read(d) < (int64_t)sizeof two);
    dataset_close(&d);
}

/* Other data are read by the words of the training data; where labels are not read they need not be there. */
static void test_a_vocabulary_goes_on(void **state)
{
    (void)state;
    static const char fields[] = "{fields: [{name: 'a', type: 'number'}, {name: 'label', type: 'word'}]}";
    static const char vocabulary[] = "{\"label\": {\"label\": [\"dog\", \"cat\"]}}";
    dataset *d = records_must_open("jsonl", fields, "{\"a\": 1, \"label\": \"cat\"}\n", vocabulary);
    float a;
    int64_t label;
    assert_int_equal(dataset_read(d, 0, (void *[]){&a, &label}, NULL), OK);
    assert_int_equal(label, 1);
    dataset_close(&d);
    records_refuse("jsonl", fields, "{\"a\": 1, \"label\": \"cat\"}\n{\"a\": 1, \"label\": \"owl\"}\n",
                   vocabulary, E_DATA,
                   "t.data': line 2 (byte 25): field 'label': 'owl' is no word of the training data");
    records_refuse("jsonl", fields, "{\"a\": 1, \"label\": \"cat\"}", "{}", E_DATA,
                   "has no list of words for field 'label'");
    error err = ERROR_INIT;
    dataset_options how = {.vocabulary = vocabulary, .without_labels = true};
    assert_int_equal(records_open("jsonl", fields, "{\"a\": 3}\n", &how, &d, &err), OK);
    size_t n;
    dataset_fields(d, &n);
    assert_int_equal(n, 1);
    buf word = BUF_INIT;
    assert_true(dataset_label_word(d, 1, &word));
    assert_string_equal(word.data, "cat");
    buf_fini(&word);
    dataset_close(&d);
}

/* Classes of a vocabulary keep their numbers; those of the training data stand behind. */
static void test_a_vocabulary_grows(void **state)
{
    (void)state;
    static const char known[] = "{\"label\": {\"label\": [\"dog\", \"cat\"], \"size\": 2}}";
    buf content = {.data = (char *)(uintptr_t)known, .size = strlen(known)};
    char *path = test_file(folder_path(), "known.json", &content);
    char *reader = xasprintf("{fields: [{name: 'label', type: 'word'}, {name: 'size', type: 'label'}], "
                             "vocabulary: '%s', extend_vocabulary: true}",
                             path);
    static const char lines[] = "{\"label\": \"owl\", \"size\": 4}\n{\"label\": \"ant\", \"size\": 0}\n";
    dataset *d = records_must_open("jsonl", reader, lines, NULL);
    int64_t label, size;
    assert_int_equal(dataset_read(d, 0, (void *[]){&label, &size}, NULL), OK);
    assert_int_equal(label, 3);
    assert_string_equal(dataset_vocabulary(d),
                        "{\"label\":{\"label\":[\"dog\",\"cat\",\"ant\",\"owl\"],\"size\":5}}");
    char *grown = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    records_refuse("jsonl", reader, "{\"label\": \"bee\", \"size\": 1}\n", grown, E_DATA,
                   "field 'label': 'bee' is no word of the training data");
    free(grown);
    free(reader);
    free(path);
}

/* As many classes as the training data have, whatever other data have. */
static void test_classes_are_the_training_datas(void **state)
{
    (void)state;
    static const char fields[] = "{fields: [{name: 'label', type: 'label'}]}";
    static const char given[] = "{fields: [{name: 'label', type: 'label', classes: 7}]}";
    static const char vocabulary[] = "{\"label\": {\"label\": 4}}";
    static const struct {
        const char *fields, *vocabulary;
        int64_t classes;
    } cases[] = {{fields, NULL, 2}, {fields, vocabulary, 4}, {given, NULL, 7}, {given, vocabulary, 7}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        dataset *d = records_must_open("jsonl", cases[i].fields, "{\"label\": 1}", cases[i].vocabulary);
        size_t n;
        assert_int_equal(dataset_fields(d, &n)[0].classes, cases[i].classes);
        assert_int_equal(dataset_vocabulary(d) == NULL, cases[i].fields == given);
        dataset_close(&d);
    }
    records_refuse("jsonl", fields, "{\"label\": 1}\n{\"label\": 4}", vocabulary, E_DATA,
                   "line 2 (byte 13): ");
    records_refuse("jsonl", fields, "{\"label\": 4}", vocabulary, E_DATA,
                   "field 'label': class 4; expected 0 to 3, as the training data have them");
    records_refuse("jsonl", fields, "{\"label\": 1}", "{}", E_DATA,
                   "does not say how many classes field 'label' has");
}

static void test_parts(void **state)
{
    (void)state;
    static const char ten[] = "{\"a\":0}\n{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}\n{\"a\":5}\n{\"a\":6}\n{"
                              "\"a\":7}\n{\"a\":8}\n{\"a\":9}\n";
    dataset *d = records_must_open(
        "jsonl", "{fields: [{name: 'a', type: 'integer'}], range: [0.5, 1], limit: 3}", ten, NULL);
    int64_t a;
    assert_int_equal(dataset_examples(d), 3);
    assert_int_equal(dataset_read(d, 2, (void *[]){&a}, NULL), OK);
    assert_int_equal(a, 7);
    dataset_close(&d);
}

static void refuses(const char *text, const char *part)
{
    records_refuse(
        "jsonl",
        "{fields: [{name: 'x', type: 'numbers', shape: [2]}, {name: 'label', type: 'label', classes: 3}]}",
        text, NULL, E_DATA, part);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("{\"x\": [1, 2], \"label\": 1}\n{\"x\": [1, 2,\n", "t.data': line 2 (byte 26): column ");
    refuses("[1, 2]\n", "line 1 (byte 0): is a list; expected an object");
    refuses("{\"x\": [1, 2], \"x\": 1}", "line 1 (byte 0): column ");
    refuses("\n{\"y\": [1, 2], \"label\": 1}",
            "line 2 (byte 1): field 'x': there is no 'x'; there are: y, label");
    refuses("{\"x\": [1, 2, 3], \"label\": 1}", "field 'x': is a list of 3; expected 2 numbers");
    refuses("{\"x\": [1, \"2\"], \"label\": 1}", "field 'x': is a list of 2; expected 2 numbers");
    refuses("{\"x\": \"12\", \"label\": 1}", "field 'x': is a string; expected 2 numbers");
    refuses("{\"x\": [1, 1e300], \"label\": 1}", "field 'x': element 1 is no finite float32");
    refuses("{\"x\": [1, 2], \"label\": 3}", "field 'label': class 3; expected 0 to 2");
    refuses("{\"x\": [1, 2], \"label\": -1}", "field 'label': class -1; expected 0 to 2");
    refuses("{\"x\": [1, 2], \"label\": 1.0}", "field 'label': is a number; expected a class: an integer");
    refuses("{\"x\": [1, 2], \"label\": null}", "field 'label': is null; expected a class");
    refuses("{\"x\": [1, 2], \"l\xff\": 1}", "line 1 (byte 0): byte 16 of it (0xff) is no UTF-8");
    refuses("\n\n", "holds no records: the file is empty");
    records_refuse("jsonl", "{fields: [{name: 'w', type: 'word'}]}", "{\"w\": \"\"}", NULL, E_DATA,
                   "field 'w': is a string; expected a class: a word in UTF-8, not empty");
    records_refuse("jsonl", "{fields: []}", "{}", NULL, E_CONFIG,
                   "dataset_reader.fields: names no field to read");
    records_refuse("jsonl", "{fields: [{name: 'w', type: 'word'}, {name: 'w', type: 'word'}]}", "{}", NULL,
                   E_CONFIG, "dataset_reader.fields[1].name: 'w' is the name of another field already");
    records_refuse("jsonl", "{fields: [{name: 'b', type: 'bytes', shape: [2]}]}", "{}", NULL, E_CONFIG,
                   "dataset_reader.fields[0].type: bytes: strings of jsonl are text");
    records_refuse("jsonl", "{fields: [{name: 'b', type: 'numbers', shape: [65536, 65536]}]}", "{}", NULL,
                   E_CONFIG, "dataset_reader.fields[0].shape: an example of more than");
}

/* --- lists of any number of values up to `most` --- */

static const char varied[] =
    "{fields: [{name: 'ids', type: 'integers', most: 4, filler: -100}, {name: 'x', type: 'numbers', most: 4, filler: "
    "0.5}, {name: 'mask', type: 'mask', most: 4, key: 'ids'}, {name: 'label', type: 'label'}]}";

static void test_lists_that_vary(void **state)
{
    (void)state;
    static const char text[] = "{\"ids\": [7, 8, 9], \"x\": [1], \"label\": 0}\n"
                               "{\"ids\": [5], \"x\": [1, 2, 3, 4], \"label\": 1}\n"
                               "{\"ids\": [5, 6], \"x\": [1], \"label\": 1}\n";
    int64_t ids[4], mask[4], label;
    float x[4];
    size_t n;
    dataset *d = records_must_open("jsonl", varied, text, NULL);
    const data_field *f = dataset_fields(d, &n);
    assert_true(f[0].varies && f[1].varies && f[2].varies && !f[3].varies);
    assert_int_equal(f[0].rank, 1);
    assert_int_equal(f[0].dim[0], 4);
    assert_int_equal(f[2].dtype, DT_I64);
    assert_int_equal(dataset_read(d, 0, (void *[]){ids, x, mask, &label}, NULL), OK);
    assert_true(ids[0] == 7 && ids[2] == 9 && ids[3] == -100);
    assert_true(x[0] == 1.0f && x[1] == 0.5f && x[3] == 0.5f);
    assert_true(mask[0] == 1 && mask[2] == 1 && mask[3] == 0);
    static const uint32_t longest[] = {3, 4, 2}; /* of all of an example's lists */
    assert_memory_equal(dataset_lengths(d), longest, sizeof longest);
    dataset_close(&d);
    d = records_must_open("jsonl", "{fields: [{name: 'x', type: 'numbers', most: 4}], range: [0.34, 1]}",
                          "{\"x\": [1]}\n{\"x\": [1, 2]}\n{\"x\": [1, 2, 3]}\n", NULL);
    assert_memory_equal(dataset_lengths(d), ((uint32_t[]){2, 3}), 2 * sizeof(uint32_t));
    dataset_close(&d);
    d = records_must_open("jsonl", "{fields: [{name: 'x', type: 'numbers', shape: [1]}]}", "{\"x\": [1]}\n", NULL);
    assert_null(dataset_lengths(d));
    dataset_close(&d);
}

static void refuses_varied(const char *text, const char *part)
{
    records_refuse("jsonl", varied, text, NULL, E_DATA, part);
}

static void test_refusals_of_lists_that_vary(void **state)
{
    (void)state;
    refuses_varied("{\"ids\": [1, 2, 3, 4, 5], \"x\": [1], \"label\": 0}",
                   "line 1 (byte 0): field 'ids': is a list of 5; expected 1 to 4 integers");
    refuses_varied("{\"ids\": [1], \"x\": [], \"label\": 0}", "field 'x': is a list of 0; expected 1 to 4 numbers");
    refuses_varied("{\"ids\": [1, 2.5], \"x\": [1], \"label\": 0}",
                   "field 'ids': is a list of 2; expected 1 to 4 integers");
    refuses_varied("{\"x\": [1], \"label\": 0}", "field 'ids': there is no 'ids'");
    static const struct {
        const char *fields, *part;
    } cases[] = {
        {"{fields: [{name: 'x', type: 'numbers'}]}", "dataset_reader.fields[0]: wants one of shape"},
        {"{fields: [{name: 'x', type: 'numbers', shape: [2], most: 2}]}",
         "dataset_reader.fields[0]: wants one of shape"},
        {"{fields: [{name: 'x', type: 'numbers', most: 2}, {name: 'y', type: 'integers', most: 3}]}",
         "dataset_reader.fields[1].most: 3, but 2 for field 'x'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        records_refuse("jsonl", cases[i].fields, "{\"x\": [1]}", NULL, E_CONFIG, cases[i].part);
}

/* The first damaged line is named, however many threads look, and also where one of them finds a later one. */
static void test_the_first_of_many(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    for (int i = 0; i < 30000; i++)
        buf_addf(&b, "{\"x\": [1, %d], \"label\": %d}\n", i, i == 15000 || i % 4000 == 3999 ? i : 1);
    refuses(b.data, "line 4000 (byte");
    buf_fini(&b);
}

/* --- what is found of all records is kept --- */

/* How often the log says that all records were read. */
static int surveys_in(const char *log)
{
    buf b = BUF_INIT;
    int n = 0;
    assert_int_equal(fs_read(log, 1 << 20, &b, NULL), OK);
    for (const char *at = b.data; (at = strstr(at, " SURVEY ")) != NULL; at++)
        n++;
    buf_fini(&b);
    return n;
}

/* Opens it, and says how many surveys that took. */
static int opens_after(const char *fields, const char *path, const char *vocabulary, const char *want)
{
    char *log = folder_file("log");
    dataset *d = NULL;
    error err = ERROR_INIT;
    unlink(log);
    assert_int_equal(log_open_file(log, NULL), OK);
    dataset_options how = {.vocabulary = vocabulary};
    status st = records_open_path("jsonl", fields, path, &how, &d, &err);
    log_close_file();
    if (st != OK)
        fail_msg("%s", err.text);
    assert_string_equal(dataset_vocabulary(d), want);
    dataset_close(&d);
    int n = surveys_in(log);
    free(log);
    return n;
}

/* In all files of that ending. */
static void edit_kept(const char *cache, const char *of, const char *from, const char *to)
{
    char **names = NULL;
    size_t n = 0;
    bool done = false;
    assert_int_equal(fs_list(cache, &names, &n, NULL), OK);
    for (size_t i = 0; i < n; i++) {
        const char *ending = strrchr(names[i], '.');
        if (!ending || strcmp(ending, of) != 0)
            continue;
        char *path = xasprintf("%s/%s", cache, names[i]);
        buf b = BUF_INIT;
        assert_int_equal(fs_read(path, 1 << 20, &b, NULL), OK);
        char *at = strstr(b.data, from);
        if (at) {
            memcpy(at, to, strlen(to)); /* as long as it is */
            assert_int_equal(fs_write_atomic(path, b.data, b.size, NULL), OK);
            done = true;
        }
        buf_fini(&b);
        free(path);
    }
    fs_list_free(names, n);
    assert_true(done);
}

static void test_a_survey_is_kept(void **state)
{
    (void)state;
    static const char fields[] = "{fields: [{name: 'a', type: 'number'}, {name: 'label', type: 'word'}]}";
    static const char other[] = "{fields: [{name: 'a', type: 'integer'}, {name: 'label', type: 'word'}]}";
    static const char both[] = "{\"label\":{\"label\":[\"cat\",\"owl\"]}}";
    static const char more[] = "{\"label\":{\"label\":[\"owl\",\"bat\",\"cat\"]}}";
    char *cache = folder_file("cache");
    buf b = BUF_INIT;
    setenv("TEQUIO_CACHE", cache, 1);
    for (int i = 0; i < 50000; i++)
        buf_addf(&b, "{\"a\": %d, \"label\": \"%s\"}\n", i, i % 3 ? "owl" : "cat");
    char *path = test_file(folder_path(), "kept.jsonl", &b);
    assert_int_equal(opens_after(fields, path, NULL, both), 1);
    assert_int_equal(opens_after(fields, path, NULL, both), 0);
    assert_int_equal(opens_after(fields, path, more, more), 0); /* the words of a job, which has one more */
    assert_int_equal(opens_after(other, path, NULL, both), 1); /* another kind of field */
    edit_kept(cache, ".survey", "owl", "cow"); /* in both */
    assert_int_equal(opens_after(fields, path, NULL, both), 1);
    assert_int_equal(opens_after(other, path, NULL, both), 1);
    assert_int_equal(opens_after(fields, path, NULL, both), 0);
    error err = ERROR_INIT;
    dataset *d = NULL;
    dataset_options how = {.vocabulary = "{\"label\": {\"label\": [\"owl\"]}}"};
    assert_int_equal(records_open_path("jsonl", fields, path, &how, &d, &err), E_DATA);
    assert_non_null(strstr(err.text, "line 1 (byte 0): field 'label': 'cat' is no word of the training data"));
    buf_fini(&b);
    free(path);
    free(cache);
    unsetenv("TEQUIO_CACHE");
}

/* What is found by several threads, and what is found in the cache, where they stay: no process holds a copy. */
static void test_lengths_are_kept(void **state)
{
    (void)state;
    static const char fields[] = "{fields: [{name: 'x', type: 'numbers', most: 9}, {name: 'label', type: 'word'}]}";
    static const char word[] = "{\"label\":{\"label\":[\"w\"]}}";
    enum { RECORDS = 50000 };
    char *cache = folder_file("cache_of_lengths");
    buf b = BUF_INIT;
    setenv("TEQUIO_CACHE", cache, 1);
    for (int i = 0; i < RECORDS; i++)
        buf_addf(&b, "{\"label\": \"w\", \"x\": [1%.*s]}\n", i * 7 % 9 * 2, ",2,3,4,5,6,7,8,9,0");
    char *path = test_file(folder_path(), "lengths.jsonl", &b);
    for (int round = 0; round < 4; round++) {
        dataset_options how = {.vocabulary = NULL};
        dataset *d = NULL;
        if (round == 2)
            edit_kept(cache, ".lengths", "\1", "\2");
        assert_int_equal(opens_after(fields, path, NULL, word), round == 0 || round == 2);
        size_t heap = cache_heap_bytes();
        assert_int_equal(records_open_path("jsonl", fields, path, &how, &d, NULL), OK);
        assert_true(cache_heap_bytes() - heap < RECORDS);
        for (int i = 0; i < RECORDS; i++)
            assert_int_equal(dataset_lengths(d)[i], i * 7 % 9 + 1);
        dataset_close(&d);
    }
    buf_fini(&b);
    free(path);
    free(cache);
    unsetenv("TEQUIO_CACHE");
}

static void test_sharded(void **state)
{
    (void)state;
    static const char of_jsonl[] = "{base_reader: {type: 'jsonl', fields: [{name: 'w', type: 'word'}]}}";
    dataset *d = records_must_open("sharded", of_jsonl, "{\"w\": \"a\"}\n{\"w\": \"b\"}\n", NULL);
    assert_int_equal(dataset_examples(d), 2);
    dataset_close(&d);
    records_refuse("sharded", "{base_reader: {type: 'idx'}}", "", NULL, E_CONFIG,
                   "dataset_reader.base_reader.type: 'idx' does not read shards; these do: text csv jsonl tfrecord ");
    records_refuse(
        "sharded", "{base_reader: {type: 'jsonl', limit: 3, fields: [{name: 'w', type: 'word'}]}}", "", NULL,
        E_CONFIG, "dataset_reader.base_reader.limit: is said of all shards together: set dataset_reader.limit");
}

/* Any number of classes, one of them named twice. */
static void test_labels(void **state)
{
    (void)state;
    static const char fields[] = "{fields: [{name: 'label', type: 'labels', classes: 3, key: 'has'}]}";
    static const float want[][3] = {{1, 0, 1}, {0, 0, 0}, {0, 1, 0}};
    dataset *d = records_must_open("jsonl", fields, "{\"has\": [2, 0, 2]}\n{\"has\": []}\n{\"has\": [1]}\n", NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(f->dtype, DT_F32);
    assert_int_equal(f->rank, 1);
    assert_int_equal(f->dim[0], 3);
    assert_int_equal(f->classes, 0);
    for (int64_t i = 0; i < 3; i++) {
        float got[3] = {-1, -1, -1};
        assert_int_equal(dataset_read(d, i, (void *[]){got}, NULL), OK);
        assert_memory_equal(got, want[i], sizeof got);
    }
    dataset_close(&d);
    records_refuse("jsonl", fields, "{\"has\": [3]}\n", NULL, E_DATA, "field 'label': class 3; expected 0 to 2");
    records_refuse("jsonl", fields, "{\"has\": [\"x\"]}\n", NULL, E_DATA, "expected a list of classes: integers");
    /* Where labels are not read they need not be there. */
    static const char both[] = "{fields: [{name: 'x', type: 'number'}, {name: 'label', type: 'labels', classes: 3}]}";
    static const dataset_options unlabelled = {.without_labels = true};
    assert_int_equal(records_open("jsonl", both, "{\"x\": 1}\n", &unlabelled, &d, NULL), OK);
    dataset_fields(d, &n);
    assert_int_equal(n, 1);
    dataset_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_a_vocabulary_goes_on),
        cmocka_unit_test(test_a_vocabulary_grows),
        cmocka_unit_test(test_classes_are_the_training_datas),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_lists_that_vary),
        cmocka_unit_test(test_refusals_of_lists_that_vary),
        cmocka_unit_test(test_the_first_of_many),
        cmocka_unit_test(test_a_survey_is_kept),
        cmocka_unit_test(test_lengths_are_kept),
        cmocka_unit_test(test_sharded),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
