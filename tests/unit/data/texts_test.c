/* Texts of records as tokens: their fields, pairs, what is cut off, records that are no examples, keys within values,
 * and every refusal, by file, line and field. CTest labels: tsan */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"
#include "unit/data/support_records.h"

#include <stdlib.h>
#include <string.h>

enum { PAD, UNK, CLS, SEP, A, B, C };
static const char vocab[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n";
static char *tokenizer_path;

static int write_tokenizer(void **state)
{
    buf b = {.data = (char *)(uintptr_t)vocab, .size = strlen(vocab)};
    int failed = folder_set_up(state);
    tokenizer_path = test_file(folder_path(), "vocab.txt", &b);
    return failed;
}

static int remove_tokenizer(void **state)
{
    free(tokenizer_path);
    return folder_tear_down(state);
}

/* Options of a reader with this tokenizer; free them. */
static char *options(const char *others)
{
    return xasprintf("{tokenizer: '%s'} + %s", tokenizer_path, others);
}

static dataset *must_open(const char *type, const char *others, const char *text, const char *vocabulary)
{
    char *reader = options(others);
    dataset *d = records_must_open(type, reader, text, vocabulary);
    free(reader);
    return d;
}

static void refuse(const char *type, const char *others, const char *text, const char *vocabulary, status code,
                   const char *part)
{
    char *reader = options(others);
    records_refuse(type, reader, text, vocabulary, code, part);
    free(reader);
}

enum { MOST = 6 };

/* An example with a label: its tokens, mask, types. */
static void expect_example(const dataset *d, int64_t i, const int64_t *ids, const int64_t *types, size_t n,
                           int64_t label)
{
    int64_t got[3][MOST], got_label = -1;
    assert_int_equal(dataset_read(d, i, (void *[]){got[0], got[1], got[2], &got_label}, NULL), OK);
    for (size_t k = 0; k < MOST; k++) {
        assert_int_equal(got[0][k], k < n ? ids[k] : PAD);
        assert_int_equal(got[1][k], k < n);
        assert_int_equal(got[2][k], k < n ? types[k] : 0);
    }
    assert_int_equal(dataset_lengths(d)[i], n);
    assert_int_equal(got_label, label);
}

static void test_classification(void **state)
{
    (void)state;
    dataset *d = must_open("text_classification_json", "{max_sequence_length: 6}",
                           "{\"text\": \"A b\", \"label\": \"yes\"}\n"
                           "{\"text\": \"c a b d a b\", \"label\": \"no\"}", NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 4);
    assert_string_equal(f[0].name, "input_ids");
    assert_string_equal(f[1].name, "attention_mask");
    assert_string_equal(f[2].name, "token_type_ids");
    assert_string_equal(f[3].name, "label");
    assert_true(f[0].varies && f[1].varies && f[2].varies && !f[3].varies);
    assert_int_equal(f[0].tokens, 7);
    expect_example(d, 0, (int64_t[]){CLS, A, B, SEP}, (int64_t[MOST]){0}, 4, 1);
    expect_example(d, 1, (int64_t[]){CLS, C, A, B, UNK, SEP}, (int64_t[MOST]){0}, 6, 0);
    assert_non_null(strstr(dataset_vocabulary(d), "\"tokenizer_sha256\":\""));
    dataset_close(&d);
}

static void test_keys_and_numbers(void **state)
{
    (void)state;
    dataset *d = must_open(
        "text_classification_json",
        "{max_sequence_length: 6, text_key: 'parts.1.t', label_key: 'a.b', skip_label_indexing: true}",
        "{\"parts\": [0, {\"t\": \"c\"}], \"a\": {\"b\": 2}, \"a.b\": 1}\n"
        "{\"parts\": [0, {\"t\": \"\"}], \"a\": {\"b\": 2}}",
        NULL);
    expect_example(d, 0, (int64_t[]){CLS, C, SEP}, (int64_t[MOST]){0}, 3, 1);
    expect_example(d, 1, (int64_t[]){CLS, SEP}, (int64_t[MOST]){0}, 2, 2);
    dataset_close(&d);
    refuse("text_classification_json", "{text_key: 'parts.2.t'}", "{\"parts\": [1, 2], \"label\": \"x\"}", NULL, E_DATA,
           "t.data': line 1 (byte 0): field 'text': there is no 'parts.2.t'; there are: parts, label");
}

/* Of two sentences the longer one loses tokens; what is labelled "-" is no example. */
static void test_pairs(void **state)
{
    (void)state;
    static const char lines[] =
        "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"gold_label\": \"-\"}\n"
        "{\"sentence1\": \"a\", \"sentence2\": \"b c c c\", \"gold_label\": \"neutral\"}\n"
        "{\"sentence1\": 1, \"sentence2\": \"b\", \"gold_label\": \"-\"}\n"
        "{\"sentence1\": \"c\", \"sentence2\": \"\", \"gold_label\": \"entailment\"}\n";
    dataset *d = must_open("snli", "{max_sequence_length: 6}", lines, NULL);
    assert_int_equal(dataset_examples(d), 2);
    expect_example(d, 0, (int64_t[]){CLS, A, SEP, B, C, SEP}, (int64_t[]){0, 0, 0, 1, 1, 1}, 6, 1);
    expect_example(d, 1, (int64_t[]){CLS, C, SEP, SEP}, (int64_t[]){0, 0, 0, 1}, 4, 0);
    dataset_close(&d);
    d = must_open("snli", "{max_sequence_length: 6, range: [0.5, 1]}", lines, NULL);
    expect_example(d, 0, (int64_t[]){CLS, C, SEP, SEP}, (int64_t[]){0, 0, 0, 1}, 4, 0);
    dataset_close(&d);
    refuse("snli", "{}", "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"gold_label\": \"-\"}\n", NULL, E_DATA,
           "has no example: all 1 records are skipped, by their label");
    refuse("snli", "{}", "{\"sentence1\": \"a\", \"sentence2\": 7, \"gold_label\": \"x\"}\n", NULL, E_DATA,
           "field 'text': 'sentence2' is an integer; expected a text");
}

static void test_other_data(void **state)
{
    (void)state;
    static const char lines[] = "{\"text\": \"a\", \"label\": \"x\"}";
    dataset *d = must_open("text_classification_json", "{}", lines, NULL);
    char *vocabulary = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    d = must_open("text_classification_json", "{}", lines, vocabulary);
    dataset_close(&d);
    refuse("text_classification_json", "{}", "\n{\"text\": \"a\", \"label\": \"y\"}", vocabulary, E_DATA,
           "t.data': line 2 (byte 1): field 'label': 'y' is no word of the training data");
    vocabulary[strlen(vocabulary) - 3] ^= 1;
    refuse("text_classification_json", "{}", lines, vocabulary, E_DATA,
           "vocab.txt': is another tokenizer than that of 'the job's vocabulary': its SHA-256 is ");
    refuse("text_classification_json", "{}", lines, "{\"label\": {\"label\": [\"x\"]}}", E_DATA,
           "does not say which tokenizer the training data were read by");
    free(vocabulary);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char type[] = "text_classification_json";
    refuse(type, "{max_sequence_length: 4, on_long: 'fail'}",
           "{\"text\": \"a b\", \"label\": \"x\"}\n{\"text\": \"a b c\", \"label\": \"x\"}", NULL, E_DATA,
           "line 2 (byte 30): field 'text': has 5 tokens; at most 4 are taken");
    refuse(type, "{max_sequence_length: 2}", "{\"text\": \"a\", \"label\": \"x\"}", NULL, E_CONFIG,
           "dataset_reader.tokenizer: most: 2 tokens leave no room beside the tokenizer's 2 special ones");
    refuse(type, "{}", "{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\xff\", \"label\": \"x\"}", NULL, E_DATA,
           "line 2 (byte 28): byte 11 of it (0xff) is no UTF-8");
    refuse(type, "{tokenizer: '/nowhere/tokenizer.json'}", "{}", NULL, E_DATA,
           "dataset_reader.tokenizer: open '/nowhere/tokenizer.json'");
    static const char field[] = "{tokenizer: null, fields: [{name: 'q', type: 'text', most: 8}]}";
    refuse("jsonl", field, "{\"q\": \"a\"}", NULL, E_CONFIG,
           "dataset_reader.tokenizer: null, but field 'q' is a text; name a tokenizer.json, or its folder");
    refuse("jsonl",
           "{fields: [{name: 'q', type: 'text', most: 8}, {name: 'attention_mask', type: 'mask', most: 8, key: 'q'}]}",
           "{\"q\": \"a\"}", NULL, E_CONFIG,
           "dataset_reader.fields[1].name: 'attention_mask' is the name of another field already");
    refuse("jsonl", "{fields: [{name: 'q', type: 'text', most: 8}, {name: 'a', type: 'text', most: 8}]}",
           "{\"q\": \"a\", \"a\": \"b\"}", NULL, E_CONFIG,
           "dataset_reader.fields[1].type: 'a' is a second text beside 'q'; a reader has one, or two together by "
           "`pair`");
}

/* --- words of the training data --- */

static const char words_reader[] = "{tokenizer: 'whitespace', max_sequence_length: 6, lowercase_tokens: true}";
static const char sentences[] = "{\"text\": \"the Sea and the sky\", \"label\": \"yes\"}\n"
                                "{\"text\": \"Über  THE sea über a b c\", \"label\": \"no\"}\n"
                                "{\"text\": \"c\", \"label\": \"no\"}";

static void expect_words(const dataset *d, int64_t i, const int64_t *ids, size_t n)
{
    int64_t got[2][MOST], label;
    assert_int_equal(dataset_read(d, i, (void *[]){got[0], got[1], &label}, NULL), OK);
    for (size_t k = 0; k < MOST; k++) {
        assert_int_equal(got[0][k], k < n ? ids[k] : 0);
        assert_int_equal(got[1][k], k < n);
    }
    assert_int_equal(dataset_lengths(d)[i], n);
}

/* By falling counts, and equally frequent ones as they come first, as AllenNLP's Vocabulary.from_instances has them, of
 * the first tokens up to max_sequence_length. */
static void test_words_of_the_training_data(void **state)
{
    (void)state;
    dataset *d = records_must_open("text_classification_json", words_reader, sentences, NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 3);
    assert_string_equal(f[1].name, "attention_mask");
    assert_int_equal(f[0].tokens, 10);
    assert_string_equal(dataset_vocabulary(d),
                        "{\"label\":{\"label\":[\"no\",\"yes\"]},"
                        "\"words\":[\"the\",\"sea\",\"über\",\"and\",\"sky\",\"a\",\"b\",\"c\"],"
                        "\"words_by\":\"whitespace, lower case\"}");
    expect_words(d, 0, (int64_t[]){2, 3, 5, 2, 6}, 5);
    expect_words(d, 1, (int64_t[]){4, 2, 3, 4, 7, 8}, 6);
    expect_words(d, 2, (int64_t[]){9}, 1);
    dataset_close(&d);
}

static void expect_vocabulary(const char *choice, const char *text, const char *expected)
{
    char *reader = xasprintf("%s + %s", words_reader, choice);
    dataset *d = records_must_open("text_classification_json", reader, text, NULL);
    if (!strstr(dataset_vocabulary(d), expected))
        fail_msg("%s: %s", choice, dataset_vocabulary(d));
    dataset_close(&d);
    free(reader);
}

static void test_which_words(void **state)
{
    (void)state;
    expect_vocabulary("{min_count: 2}", sentences, "\"words\":[\"the\",\"sea\",\"über\"]");
    expect_vocabulary("{max_vocab_size: 4}", sentences, "\"words\":[\"the\",\"sea\",\"über\",\"and\"]");
    expect_vocabulary("{max_vocab_size: 4, min_count: 3, tokens_to_add: ['zebra', 'the', 'sky']}", sentences,
                      "\"words\":[\"the\",\"zebra\",\"sky\"]");
    expect_vocabulary("{tokenizer: 'letters_digits'}", "{\"text\": \"a1.b_\", \"label\": \"x\"}",
                      "\"words\":[\"a\",\"1\",\".\",\"b\",\"_\"],\"words_by\":\"letters_digits, lower case\"");
    expect_vocabulary("{tokenizer: 'character', lowercase_tokens: false}", "{\"text\": \"aB a\", \"label\": \"x\"}",
                      "\"words\":[\"a\",\"B\",\" \"],\"words_by\":\"character\"");
}

static void test_other_data_have_the_words_of_a_vocabulary(void **state)
{
    (void)state;
    static const char known[] = "{\"label\": {\"label\": [\"no\", \"yes\"]}, \"words\": [\"sea\", \"the\"]}";
    dataset *d = records_must_open("text_classification_json", words_reader, sentences, known);
    expect_words(d, 0, (int64_t[]){3, 2, 1, 3, 1}, 5);
    dataset_close(&d);
    buf content = {.data = (char *)(uintptr_t)known, .size = strlen(known)};
    char *path = test_file(folder_path(), "known.json", &content);
    char *reader = xasprintf("%s + {vocabulary: '%s', extend_vocabulary: true, min_count: 2}", words_reader, path);
    d = records_must_open("text_classification_json", reader, sentences, NULL);
    assert_non_null(strstr(dataset_vocabulary(d), "\"words\":[\"sea\",\"the\",\"über\"]"));
    dataset_close(&d);
    free(reader);
    free(path);
    /* two texts: one row, in which one follows the other */
    d = records_must_open("snli", words_reader,
                          "{\"sentence1\": \"the sea\", \"sentence2\": \"the\", \"gold_label\": \"yes\"}", known);
    expect_words(d, 0, (int64_t[]){3, 2, 3}, 3);
    dataset_close(&d);
}

static void test_refusals_of_words(void **state)
{
    (void)state;
    const char *type = "text_classification_json";
    records_refuse(type, words_reader, sentences,
                   "{\"label\": {\"label\": [\"no\", \"yes\"]}, \"words\": [], \"words_by\": \"character\"}", E_DATA,
                   "its words are made by 'character', those of these data by 'whitespace, lower case'");
    records_refuse(type, words_reader, sentences, "{\"label\": {\"label\": [\"no\", \"yes\"]}}", E_DATA,
                   "has no list \"words\"");
    records_refuse(type, words_reader, "{\"text\": \" \\u3000\", \"label\": \"x\"}", NULL, E_DATA,
                   "line 1 (byte 0): field 'text': there is no token in it");
    records_refuse(type, "{tokenizer: 'spacy'}", sentences, NULL, E_CONFIG,
                   "dataset_reader.tokenizer: spaCy's rules are Python code, which is not run here");
    refuse(type, "{lowercase_tokens: true}", sentences, NULL, E_CONFIG, "says by itself what its tokens are; "
                                                                        "lowercase_tokens is for whitespace");
    refuse(type, "{max_vocab_size: 3}", sentences, NULL, E_CONFIG, "max_vocab_size is for whitespace");
    records_refuse("csv", "{tokenizer: 'whitespace', text: 't', label: 'l'}", "t,l\na,b\n", NULL, E_CONFIG,
                   "dataset_reader.tokenizer: this reader has no words of its own data");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classification), cmocka_unit_test(test_keys_and_numbers), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_other_data),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_words_of_the_training_data),
        cmocka_unit_test(test_which_words),
        cmocka_unit_test(test_other_data_have_the_words_of_a_vocabulary),
        cmocka_unit_test(test_refusals_of_words),
    };
    return cmocka_run_group_tests(tests, write_tokenizer, remove_tokenizer);
}
