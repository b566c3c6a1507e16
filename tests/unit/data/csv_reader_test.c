/* Tables as examples: numbers, categories and labels, what is learned of them, and every
 * refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "data/reader.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static status opens_as(const char *reader, const char *text, const dataset_options *how,
                       dataset **ret, error *err)
{
    buf b = {.data = (char *)(uintptr_t)text, .size = strlen(text)};
    char *path = test_file(folder_path(), "t.csv", &b);
    char *written = xasprintf("{dataset_reader: {type: 'csv'} + %s, train_data_path: 'x', model: "
                              "'mlp', data_loader: {batch_size: 1}}",
                              reader);
    config *c = NULL;
    config_source source = {.text = written};
    error why = ERROR_INIT;
    if (config_load(&source, &c, &why) != OK)
        fail_msg("%s", why.text);
    status st = dataset_open_as(config_section(c, "dataset_reader"), path, how, ret, err);
    config_destroy(&c);
    free(written);
    free(path);
    return st;
}

static status opens(const char *reader, const char *text, const char *vocabulary, dataset **ret,
                    error *err)
{
    return opens_as(reader, text, &(dataset_options){.vocabulary = vocabulary}, ret, err);
}

static dataset *must_open(const char *reader, const char *text, const char *vocabulary)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    if (opens(reader, text, vocabulary, &d, &err) != OK)
        fail_msg("%s", err.text);
    return d;
}

static void refuses(const char *reader, const char *text, const char *vocabulary, status code,
                    const char *part)
{
    dataset *d = NULL;
    error err = ERROR_INIT;
    assert_int_equal(opens(reader, text, vocabulary, &d, &err), code);
    assert_null(d);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static const char people[] = "age, work ,city,rich\n"
                             "20,State,\"New York\",no\n"
                             "40,?,Oaxaca,yes\n"
                             ",Private,Oaxaca,no\n"
                             "60,Private,,no\n";
static const char all_columns[] =
    "{numeric: ['age'], categorical: ['work', 'city'], label: 'rich'}";

static void test_fields(void **state)
{
    (void)state;
    dataset *d = must_open(all_columns, people, NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 3);
    assert_int_equal(dataset_examples(d), 4);
    assert_string_equal(f[0].name, "numeric");
    assert_int_equal(f[0].dim[0], 1);
    assert_string_equal(f[1].name, "categorical");
    assert_int_equal(f[1].dim[0], 2);
    assert_int_equal(f[1].sizes[0], 3);
    assert_int_equal(f[1].sizes[1], 3);
    assert_string_equal(f[2].name, "label");
    assert_int_equal(f[2].classes, 2);
    static const struct {
        double age;
        int64_t work, city, label;
    } want[] = {{-1.224744871, 2, 1, 0}, {0, 0, 2, 1}, {0, 1, 2, 0}, {1.224744871, 1, 0, 0}};
    for (int64_t i = 0; i < 4; i++) {
        float age;
        int64_t w[2], label;
        assert_int_equal(dataset_read(d, i, (void *[]){&age, w, &label}, NULL), OK);
        assert_true(fabs((double)age - want[i].age) < 1e-6);
        assert_int_equal(w[0], want[i].work);
        assert_int_equal(w[1], want[i].city);
        assert_int_equal(label, want[i].label);
    }
    dataset_close(&d);
}

/* Other rows are read by what the first ones taught; what those lack is no category. */
static void test_a_vocabulary_goes_on(void **state)
{
    (void)state;
    dataset *d = must_open(all_columns, people, NULL);
    char *vocabulary = xstrdup(dataset_vocabulary(d));
    assert_non_null(strstr(vocabulary, "\"rich\":[\"no\",\"yes\"]"));
    dataset_close(&d);
    d = must_open(all_columns, "age,work,city,rich\n40,Private,Paris,yes\n", vocabulary);
    float age;
    int64_t w[2], label;
    assert_int_equal(dataset_read(d, 0, (void *[]){&age, w, &label}, NULL), OK);
    assert_true(age == 0.0f);
    assert_int_equal(w[0], 1);
    assert_int_equal(w[1], 0);
    assert_int_equal(label, 1);
    size_t n;
    assert_int_equal(dataset_fields(d, &n)[1].sizes[1], 3);
    assert_string_equal(dataset_vocabulary(d), vocabulary);
    dataset_close(&d);
    refuses(all_columns, "age,work,city,rich\n40,a,b,maybe\n", vocabulary, E_DATA,
            "line 2: column 'rich': label 'maybe' is none of the training data's");
    refuses(all_columns, people, "{}", E_DATA, "says no mean and no deviation of column 'age'");
    refuses(all_columns, people, "{\"numeric\": {\"age\": [1, 2]}}", E_DATA,
            "has no list of words for column 'work'");
    free(vocabulary);
}

static void expect_word(const dataset *d, int64_t label, const char *word)
{
    buf b = BUF_INIT;
    assert_int_equal(dataset_label_word(d, label, &b), word != NULL);
    if (word)
        assert_string_equal(b.data, word);
    buf_fini(&b);
}

/* Classes have the words of the training data, whether labels are read or not; numbers have none. */
static void test_words_of_labels(void **state)
{
    (void)state;
    dataset *d = must_open(all_columns, people, NULL);
    dataset_options how = {.vocabulary = xstrdup(dataset_vocabulary(d)), .without_labels = true};
    expect_word(d, 1, "yes");
    expect_word(d, 2, NULL);
    expect_word(d, -1, NULL);
    dataset_close(&d);
    assert_int_equal(opens_as(all_columns, "age,work,city\n40,a,b\n", &how, &d, NULL), OK);
    expect_word(d, 0, "no");
    expect_word(d, 2, NULL);
    dataset_close(&d);
    d = must_open("{numeric: ['x'], label: 'y', label_is: 'number'}", "x,y\n1,2\n", NULL);
    expect_word(d, 0, NULL);
    dataset_close(&d);
    free((char *)(uintptr_t)how.vocabulary);
}

static void test_without_a_header(void **state)
{
    (void)state;
    dataset *d = must_open("{header: false, numeric: ['0', '2'], scaling: 'none'}",
                           "1,a,2\n3,b,-4e1\n", NULL);
    float x[2];
    assert_int_equal(dataset_examples(d), 2);
    assert_int_equal(dataset_read(d, 1, (void *[]){x}, NULL), OK);
    assert_true(x[0] == 3.0f && x[1] == -40.0f);
    dataset_close(&d);
    d = must_open("{header: false, columns: ['u', 'v'], numeric: ['v'], scaling: 'none'}", "1,2\n",
                  NULL);
    assert_int_equal(dataset_read(d, 0, (void *[]){x}, NULL), OK);
    assert_true(x[0] == 2.0f);
    dataset_close(&d);
}

static void test_logarithms_and_numbers_as_labels(void **state)
{
    (void)state;
    dataset *d = must_open("{numeric: ['x'], scaling: 'log', label: 'y', label_is: 'number'}",
                           "x,y\n6.38905609893065,1.5\n-6.38905609893065,-2\n,0\n", NULL);
    static const double want[3][2] = {{2, 1.5}, {-2, -2}, {0, 0}};
    for (int64_t i = 0; i < 3; i++) {
        float x, y;
        assert_int_equal(dataset_read(d, i, (void *[]){&x, &y}, NULL), OK);
        assert_true(fabs((double)x - want[i][0]) < 1e-6);
        assert_true((double)y == want[i][1]);
    }
    dataset_close(&d);
}

static void test_buckets(void **state)
{
    (void)state;
    dataset *d = must_open("{categorical: ['w'], buckets: 5}", "w\na\nb\n?\na\nnever seen\n", NULL);
    int64_t w[5];
    for (int64_t i = 0; i < 5; i++) {
        assert_int_equal(dataset_read(d, i, (void *[]){&w[i]}, NULL), OK);
        assert_in_range(w[i], 0, 5);
    }
    assert_int_equal(w[2], 0);
    assert_int_equal(w[0], w[3]);
    assert_int_equal(w[0], 1 + 0xaf63dc4c8601ec8cull % 5); /* FNV-1a of "a", from its authors' table */
    size_t n;
    assert_int_equal(dataset_fields(d, &n)[0].sizes[0], 6);
    dataset_close(&d);
}

static void test_parts(void **state)
{
    (void)state;
    dataset *d = must_open("{numeric: ['x'], scaling: 'none', range: [0.5, 1]}",
                           "x\n0\n1\n2\n3\n", NULL);
    float x;
    assert_int_equal(dataset_examples(d), 2);
    assert_int_equal(dataset_read(d, 0, (void *[]){&x}, NULL), OK);
    assert_true(x == 2.0f);
    dataset_close(&d);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *reader, *text;
        status code;
        const char *part;
    } cases[] = {
        {"{}", "a\n1\n", E_CONFIG, "names no columns to read: set numeric, categorical, text or several of them"},
        {"{numeric: ['a']}", "", E_DATA, "t.csv': is empty"},
        {"{numeric: ['a']}", "a\n", E_DATA, "t.csv': has no rows of data"},
        {"{numeric: ['a']}", "\n", E_DATA, "t.csv': has no rows of data"},
        {"{numeric: ['aeg']}", "age\n1\n", E_DATA,
         "t.csv': has no column 'aeg' among its 1; did you mean 'age'?"},
        {"{header: false, numeric: ['1']}", "1\n", E_DATA, "has no column '1' among its 1"},
        {"{numeric: ['a'], columns: ['a', 'b']}", "a\n1\n", E_DATA,
         "line 1 has 1 columns, dataset_reader.columns names 2"},
        {"{numeric: ['a']}", "a,b\n1,2\n3\n", E_DATA, "line 3 has 1 columns, the first row 2"},
        {"{numeric: ['a']}", "a\n1\n\nx1\n", E_DATA,
         "line 4: column 'a': 'x1' is no finite number"},
        {"{numeric: ['a']}", "a\n1e39\n", E_DATA, "line 2: column 'a': '1e39' is no finite number"},
        {"{numeric: ['a']}", "a\nnan\n", E_DATA, "'nan' is no finite number"},
        {"{categorical: ['a'], label: 'b'}", "a,b\n1,\n", E_DATA,
         "line 2: column 'b': the label is missing"},
        {"{categorical: ['a']}", "a\n\377\n", E_DATA, "line 2: column 'a': a word that is not UTF-8"},
        {"{numeric: ['a'], separator: ',,'}", "a\n1\n", E_CONFIG,
         "dataset_reader.separator: ',,' is no single character that can part cells"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refuses(cases[i].reader, cases[i].text, NULL, cases[i].code, cases[i].part);
}

/* --- texts --- */

enum { PAD, UNK, CLS, SEP, A, B, C, TEXT_MOST = 7 };

/* Options of a reader with a tokenizer of these words. */
static char *with_texts(const char *others, const char *vocab)
{
    buf b = {.data = (char *)(uintptr_t)vocab, .size = strlen(vocab)};
    char *path = test_file(folder_path(), "vocab.txt", &b);
    char *all = xasprintf("{tokenizer: '%s', text: 'said', max_sequence_length: %d} + %s", path, TEXT_MOST, others);
    free(path);
    return all;
}

static const char letters[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n";
static const char sayings[] = "n,said,answer,mood\n1,\"A, b\",c,good\n3,,a b c a b c,bad\n";

static void expect_tokens(const dataset *d, int64_t row, const int64_t *ids, const int64_t *types, size_t n,
                          int64_t mood)
{
    int64_t got[3][TEXT_MOST], label;
    float number;
    assert_int_equal(dataset_read(d, row, (void *[]){&number, got[0], got[1], got[2], &label}, NULL), OK);
    for (size_t i = 0; i < TEXT_MOST; i++) {
        assert_int_equal(got[0][i], i < n ? ids[i] : PAD);
        assert_int_equal(got[1][i], i < n);
        assert_int_equal(got[2][i], i < n ? types[i] : 0);
    }
    assert_int_equal(dataset_lengths(d)[row], n);
    assert_int_equal(label, mood);
}

static void test_texts(void **state)
{
    (void)state;
    char *reader = with_texts("{numeric: ['n'], pair: 'answer', label: 'mood'}", letters);
    dataset *d = must_open(reader, sayings, NULL);
    size_t n;
    const data_field *f = dataset_fields(d, &n);
    assert_int_equal(n, 5);
    assert_string_equal(f[1].name, "input_ids");
    assert_string_equal(f[4].name, "label");
    assert_true(f[1].varies && f[1].tokens == 7 && f[1].dim[0] == TEXT_MOST);
    expect_tokens(d, 0, (int64_t[]){CLS, A, UNK, B, SEP, C, SEP}, (int64_t[]){0, 0, 0, 0, 0, 1, 1}, 7, 1);
    expect_tokens(d, 1, (int64_t[]){CLS, SEP, A, B, C, A, SEP}, (int64_t[]){0, 0, 1, 1, 1, 1, 1}, 7, 0);
    char *vocabulary = xstrdup(dataset_vocabulary(d));
    dataset_close(&d);
    d = must_open(reader, sayings, vocabulary);
    dataset_close(&d);
    free(reader);
    reader = with_texts("{numeric: ['n'], pair: 'answer', label: 'mood'}",
                        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nb\na\nc\n");
    refuses(reader, sayings, vocabulary, E_DATA, "is another tokenizer than that of 'the job's vocabulary'");
    free(vocabulary);
    free(reader);
}

/* By the number of their column, one text alone, without labels. */
static void test_texts_without_header(void **state)
{
    (void)state;
    char *reader = with_texts("{header: false, text: '1'}", letters);
    dataset *d = must_open(reader, "x,c b a\ny,a\n", NULL);
    int64_t ids[TEXT_MOST], mask[TEXT_MOST], types[TEXT_MOST];
    assert_int_equal(dataset_read(d, 1, (void *[]){ids, mask, types}, NULL), OK);
    assert_true(ids[1] == A && ids[2] == SEP && ids[3] == PAD && mask[2] == 1 && mask[3] == 0);
    dataset_close(&d);
    free(reader);
}

static void test_refused_texts(void **state)
{
    (void)state;
    static const struct {
        const char *others, *text;
        status code;
        const char *part;
    } cases[] = {
        {"{on_long: 'fail'}", "said\na b\na b c a b c\n", E_DATA,
         "line 3: column 'said': has 8 tokens; at most 7 are taken"},
        {"{}", "said\na\n\"b\n\xff\"\n", E_DATA,
         "line 3: column 'said': the text: byte 2 (ff) begins no UTF-8 character"},
        {"{text: 'sad'}", "said\na\n", E_DATA, "has no column 'sad' among its 1; did you mean 'said'?"},
        {"{pair: 'reply'}", "said\na\n", E_DATA, "has no column 'reply'"},
        {"{text: null, pair: 'said'}", "said\na\n", E_CONFIG, "dataset_reader.pair: 'said' is the second text"},
        {"{tokenizer: null}", "said\na\n", E_CONFIG, "dataset_reader.tokenizer: null, but column 'said' is a text"},
        {"{tokenizer: '/nowhere'}", "said\na\n", E_DATA, "dataset_reader.tokenizer: "},
        {"{max_sequence_length: 2}", "said\na\n", E_CONFIG, "most: 2 tokens leave no room"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *reader = with_texts(cases[i].others, letters);
        refuses(reader, cases[i].text, NULL, cases[i].code, cases[i].part);
        free(reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_a_vocabulary_goes_on),
        cmocka_unit_test(test_words_of_labels),
        cmocka_unit_test(test_without_a_header),
        cmocka_unit_test(test_logarithms_and_numbers_as_labels),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_texts_without_header),
        cmocka_unit_test(test_refused_texts),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
