/* Text as examples: what an example holds, which vocabulary comes of a text, and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT_MAX = 16 };

static char *text_file(const char *text, size_t bytes)
{
    buf b = {.data = (char *)(uintptr_t)text, .size = bytes};
    return test_file(folder_path(), "text", &b);
}

static text_reader_options with_context(int64_t context)
{
    return (text_reader_options){.context = context, .stride = context};
}

static dataset *opens(const text_reader_options *o, const char *text)
{
    error err = ERROR_INIT;
    dataset *d = NULL;
    char *path = text_file(text, strlen(text));
    if (text_reader_open(o, path, &d, &err) != OK)
        fail_msg("%s", err.text);
    free(path);
    return d;
}

static void refuses(const text_reader_options *o, const char *text, size_t bytes, status code,
                    const char *part)
{
    error err = ERROR_INIT;
    dataset *d = NULL;
    char *path = text_file(text, bytes);
    assert_int_equal(text_reader_open(o, path, &d, &err), code);
    assert_null(d);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
    free(path);
}

/* Example i as text, by the letters a, b, c, ... that a vocabulary "abc..." numbers. */
static void expect_letters(const dataset *d, int64_t i, const char *tokens, const char *labels)
{
    int64_t a[CONTEXT_MAX], b[CONTEXT_MAX];
    assert_int_equal(dataset_read(d, i, (void *[]){a, b}, NULL), OK);
    for (size_t k = 0; tokens[k]; k++) {
        assert_int_equal(a[k], tokens[k] - 'a');
        assert_int_equal(b[k], labels[k] - 'a');
    }
}

static void test_labels_are_the_next_tokens(void **state)
{
    (void)state;
    text_reader_options o = with_context(3);
    dataset *d = opens(&o, "abcdefgh");
    assert_int_equal(dataset_examples(d), 2); /* "gh" are too few for a third */
    expect_letters(d, 0, "abc", "bcd");
    expect_letters(d, 1, "def", "efg");
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_string_equal(f[0].name, "input_ids");
    assert_string_equal(f[1].name, "label");
    assert_int_equal(f[0].dim[0], 3);
    assert_int_equal(f[1].classes, 8);
    dataset_close(&d);
}

static void test_stride_and_limit(void **state)
{
    (void)state;
    text_reader_options o = with_context(3);
    o.stride = 1;
    dataset *d = opens(&o, "abcdefgh");
    assert_int_equal(dataset_examples(d), 5);
    expect_letters(d, 4, "efg", "fgh");
    dataset_close(&d);
    o.part = &(dataset_part){.to = 1.0, .limit = 2};
    d = opens(&o, "abcdefgh");
    assert_int_equal(dataset_examples(d), 2);
    dataset_close(&d);
}

/* The parts meet without a gap, and the vocabulary is the whole text's. */
static void test_a_range_is_a_part_of_the_text(void **state)
{
    (void)state;
    text_reader_options o = with_context(2);
    o.stride = 1;
    o.part = &(dataset_part){.to = 0.75};
    dataset *d = opens(&o, "abcdefgh");
    assert_int_equal(dataset_examples(d), 4);
    expect_letters(d, 3, "de", "ef");
    dataset_close(&d);
    o.part = &(dataset_part){.from = 0.5, .to = 1.0};
    d = opens(&o, "abcdefgh");
    assert_int_equal(dataset_examples(d), 2);
    expect_letters(d, 0, "ef", "fg");
    size_t n;
    assert_int_equal(dataset_fields(d, &n)[1].classes, 8);
    dataset_close(&d);
}

static void test_the_vocabulary_is_in_code_point_order(void **state)
{
    (void)state;
    text_reader_options o = with_context(1);
    dataset *d = opens(&o, "b\xE4\xB8\xAD\xC3\xA9" "a\nb\xF0\x9F\x98\x80");
    assert_string_equal(dataset_vocabulary(d),
                        "{\"tokens\":[\"\\n\",\"a\",\"b\",\"\xC3\xA9\",\"\xE4\xB8\xAD\","
                        "\"\xF0\x9F\x98\x80\"]}");
    dataset_close(&d);
}

static void test_other_text_is_read_by_the_same_vocabulary(void **state)
{
    (void)state;
    text_reader_options o = with_context(1);
    const reader_vocabulary abcd = {.text = "{\"tokens\": [\"a\", \"b\", \"c\", \"d\"]}",
                                    .origin = "v.json"};
    o.vocabulary = &abcd;
    dataset *d = opens(&o, "dbd");
    expect_letters(d, 0, "d", "b");
    expect_letters(d, 1, "b", "d");
    dataset_close(&d);
    refuses(&o, "dbdx", 4, E_DATA,
            "text': the character 'x' (U+0078) at byte 3 is not among the 4 of the training text");
}

static void test_bytes(void **state)
{
    (void)state;
    text_reader_options o = with_context(2);
    o.tokenizer = "bytes";
    dataset *d = NULL;
    char *path = text_file("\0\377x", 3);
    assert_int_equal(text_reader_open(&o, path, &d, NULL), OK);
    int64_t a[2], b[2];
    assert_int_equal(dataset_read(d, 0, (void *[]){a, b}, NULL), OK);
    assert_int_equal(a[0], 0);
    assert_int_equal(a[1], 255);
    assert_int_equal(b[1], 'x');
    assert_null(dataset_vocabulary(d));
    dataset_close(&d);
    free(path);
}

static void test_gzip_is_read_too(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    for (int i = 0; i < 30000; i++)
        buf_adds(&b, "abc");
    idx_gzip(&b);
    char *path = test_file(folder_path(), "packed", &b);
    dataset *d = NULL;
    text_reader_options o = with_context(2);
    assert_int_equal(text_reader_open(&o, path, &d, NULL), OK);
    assert_int_equal(dataset_examples(d), 44999);
    expect_letters(d, 1, "ca", "ab");
    dataset_close(&d);
    refuses(&o, b.data, b.size / 2, E_DATA, "gzip data break off");
    buf_fini(&b);
    free(path);
}

static void test_refusals(void **state)
{
    (void)state;
    text_reader_options o = with_context(4), bad = o;
    refuses(&o, "", 0, E_DATA, "text': is empty");
    refuses(&o, "abcd", 4, E_DATA, "text': has 4 tokens; an example of context 4 needs 5");
    refuses(&o, "abcd\377efg", 8, E_DATA,
            "byte 4 (ff) begins no UTF-8 character; convert the text, or use tokenizer \"bytes\"");
    refuses(&o, "abcd\xC3", 5, E_DATA, "byte 4 (c3) begins no UTF-8 character");
    refuses(&o, "ab\0cd", 5, E_DATA, "byte 2 is zero, so this is no text");
    bad.part = &(dataset_part){.to = 0.5};
    refuses(&bad, "abcdefgh", 8, E_DATA,
            "has 4 tokens in the range; an example of context 4 needs 5");
    bad.part = &(dataset_part){.from = 0.5, .to = 0.5};
    refuses(&bad, "abcdefgh", 8, E_CONFIG, "range [0.5, 0.5] holds nothing");
}

static void test_bad_vocabularies(void **state)
{
    (void)state;
    static const struct {
        const char *vocabulary, *text;
    } cases[] = {
        {"", "v.json"},
        {"[]", "is no vocabulary of a text: \"tokens\" has 0 characters"},
        {"{\"tokens\": []}", "\"tokens\" has 0 characters"},
        {"{\"tokens\": [1]}", "tokens[0] is no single character"},
        {"{\"tokens\": [\"a\", \"\"]}", "tokens[1] is no single character"},
        {"{\"tokens\": [\"ab\"]}", "tokens[0] is no single character"},
        {"{\"tokens\": [\"b\", \"a\"]}", "tokens[1] is out of order; code points ascend"},
        {"{\"tokens\": [\"a\", \"a\"]}", "tokens[1] is out of order"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        text_reader_options o = with_context(1);
        o.vocabulary = &(reader_vocabulary){.text = cases[i].vocabulary, .origin = "v.json"};
        refuses(&o, "aaa", 3, E_DATA, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_are_the_next_tokens),
        cmocka_unit_test(test_stride_and_limit),
        cmocka_unit_test(test_a_range_is_a_part_of_the_text),
        cmocka_unit_test(test_the_vocabulary_is_in_code_point_order),
        cmocka_unit_test(test_other_text_is_read_by_the_same_vocabulary),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_gzip_is_read_too),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bad_vocabularies),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
