/* Text as tokens of a tokenizer: several files and the token between them, two or four bytes each, pieces of a large
 * text, and back to text one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "data/language/language_tokens.h"
#include "data/language/text_pieces.h"
#include "support/folder.h"
#include "unit/data/support_idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char words_json[] =
    "{\"added_tokens\": [{\"id\": 4, \"content\": \"<end>\", \"special\": true, \"normalized\": false,"
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": false}],"
    "\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"},"
    "\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"?\","
    "\"vocab\": {\"?\": 0, \"a\": 1, \"b\": 2, \"rare\": %s}}}";
static const char example_folder[] = TEST_EXAMPLES_DIR "/tiny-shakespeare/bpe";

static char *words_file(const char *highest)
{
    buf b = BUF_INIT;
    buf_addf(&b, words_json, highest);
    char *path = test_file(folder_path(), "tokenizer.json", &b);
    buf_fini(&b);
    return path;
}

static language_tokens *opens(const language_options *o)
{
    error err = ERROR_INIT;
    language_tokens *t = NULL;
    if (language_tokens_open(o, NULL, 0, &t, &err) != OK)
        fail_msg("%s", err.text);
    return t;
}

static void refuses(const language_options *o, status code, const char *part)
{
    error err = ERROR_INIT;
    language_tokens *t = NULL;
    assert_int_equal(language_tokens_open(o, NULL, 0, &t, &err), code);
    assert_null(t);
    if (!strstr(err.text, part))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, part);
}

static record_source source(const char *text)
{
    return (record_source){"file", (const unsigned char *)text, strlen(text)};
}

static void expect_tokens(const token_array *a, const int64_t *expected, size_t n)
{
    int64_t one;
    assert_int_equal(a->n, n);
    for (size_t i = 0; i < n; i++) {
        token_array_read(a, i, 1, &one);
        assert_int_equal(one, expected[i]);
    }
}

/* --- texts to tokens --- */

static status collect(void *user, const token_array *some, error *err)
{
    return token_array_add(user, some, "tokens", err);
}

static status encode_all(const language_tokens *t, const record_source *texts, size_t n, token_array *ret, error *err)
{
    *ret = (token_array){.at = NULL};
    return language_tokens_encode(t, texts, n, collect, ret, err);
}

static void test_the_end_stands_behind_each_text(void **state)
{
    (void)state;
    char *path = words_file("3");
    const record_source texts[] = {source("a b"), source("b x rare")};
    token_array a;
    language_tokens *t = opens(&(language_options){.tokenizer = path});
    assert_int_equal(encode_all(t, texts, 2, &a, NULL), OK);
    expect_tokens(&a, (int64_t[]){1, 2, 2, 0, 3}, 5);
    assert_false(language_tokens_is_end(t, 4));
    token_array_fini(&a);
    language_tokens_close(&t);

    t = opens(&(language_options){.tokenizer = path, .end_of_text = "<end>"});
    assert_int_equal(encode_all(t, texts, 2, &a, NULL), OK);
    expect_tokens(&a, (int64_t[]){1, 2, 4, 2, 0, 3, 4}, 7);
    assert_int_equal(a.width, 2);
    assert_true(language_tokens_is_end(t, 4));
    token_array_fini(&a);
    assert_int_equal(language_tokens_begin(t, texts, &a, NULL), OK);
    expect_tokens(&a, (int64_t[]){1, 2}, 2);
    token_array_fini(&a);
    language_tokens_close(&t);
    free(path);
}

static void test_tokens_above_65535_take_four_bytes(void **state)
{
    (void)state;
    char *path = words_file("70000");
    const record_source text = source("b rare a");
    token_array a;
    language_tokens *t = opens(&(language_options){.tokenizer = path});
    assert_int_equal(language_tokens_size(t), 70001);
    assert_int_equal(encode_all(t, &text, 1, &a, NULL), OK);
    expect_tokens(&a, (int64_t[]){2, 70000, 1}, 3);
    assert_int_equal(a.width, 4);
    token_array_fini(&a);
    language_tokens_close(&t);
    free(path);
}

/* Words of four letters, some commas, lines and accents. */
static buf long_text(size_t bytes)
{
    static const char *const parts[] = {" word", " Over", ", and", ".\nThe", " caf\xC3\xA9", " 12"};
    buf b = BUF_INIT;
    for (size_t i = 0; b.size < bytes; i = i * 5 + 1)
        buf_adds(&b, parts[i % COUNT_OF(parts)]);
    return b;
}

static void test_pieces_have_the_tokens_of_the_whole(void **state)
{
    (void)state;
    buf b = long_text(5 * (size_t)TEXT_PIECE_BYTES / 2);
    const record_source text = {"long", (const unsigned char *)b.data, b.size};
    size_t first = text_piece_end(text.data, text.bytes, 0);
    assert_true(first >= TEXT_PIECE_BYTES && first < TEXT_PIECE_BYTES + 100);
    assert_int_equal(text.data[first], ' ');

    tokenizer *t = NULL;
    tokenizer_scratch *s = tokenizer_scratch_create();
    tokenizer_encodings e;
    token_array a = {.at = NULL};
    assert_int_equal(tokenizer_open(example_folder, &t, NULL), OK);
    assert_int_equal(tokenizer_encode(t, &(tokenizer_input){b.data, b.size}, NULL, NULL, s, &e, NULL), OK);
    assert_int_equal(text_pieces_tokens(t, TOKENIZER_NO_TOKEN, &text, 1, collect, &a, NULL), OK);
    assert_int_equal(a.n, e.at[0].n);
    for (size_t i = 0; i < a.n; i++)
        assert_int_equal(((const uint16_t *)a.at)[i], e.at[0].ids[i]);
    token_array_fini(&a);
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
    buf_fini(&b);
}

/* Where nothing is a letter a piece ends between characters. */
static void test_pieces_end_between_characters(void **state)
{
    (void)state;
    buf b = BUF_INIT;
    while (b.size < 3 * (size_t)TEXT_PIECE_BYTES)
        buf_adds(&b, "\xE4\xB8\xAD");
    size_t end = text_piece_end((const unsigned char *)b.data, b.size, 0);
    assert_int_equal(end % 3, 0);
    assert_true(end >= TEXT_PIECE_BYTES && end <= 2 * (size_t)TEXT_PIECE_BYTES + 3);
    assert_int_equal(text_piece_end((const unsigned char *)b.data, 10, 0), 10);
    buf_fini(&b);
}

static void test_what_is_no_text_is_named_by_its_byte(void **state)
{
    (void)state;
    buf b = long_text(3 * (size_t)TEXT_PIECE_BYTES / 2);
    const record_source text = {"long", (const unsigned char *)b.data, b.size};
    size_t bad = b.size - 1000;
    char expected[100];
    error err = ERROR_INIT;
    token_array a;
    b.data[bad] = (char)0xFF;
    snprintf(expected, sizeof expected, "'long': byte %zu (ff) begins no UTF-8 character", bad);
    language_tokens *t = opens(&(language_options){.tokenizer = example_folder});
    assert_int_equal(encode_all(t, &text, 1, &a, &err), E_DATA);
    if (!strstr(err.text, expected))
        fail_msg("message \"%s\" lacks \"%s\"", err.text, expected);
    language_tokens_close(&t);
    buf_fini(&b);
}

/* --- opening --- */

static void test_refusals(void **state)
{
    (void)state;
    char *path = words_file("3");
    refuses(&(language_options){.tokenizer = path, .end_of_text = "<eot>"}, E_DATA,
            "has no token '<eot>', which end_of_text names");
    refuses(&(language_options){.end_of_text = "<eot>"}, E_CONFIG, "tokenizer \"characters\" has no token '<eot>'");
    refuses(&(language_options){.tokenizer = "/nowhere"}, E_DATA, "/nowhere");
    language_tokens *t = opens(&(language_options){.tokenizer = path});
    char *vocabulary = xstrdup(language_tokens_vocabulary(t));
    language_tokens_close(&t);
    t = opens(&(language_options){.tokenizer = path, .vocabulary = vocabulary, .origin = "v.json"});
    language_tokens_close(&t);
    refuses(&(language_options){.tokenizer = example_folder, .vocabulary = vocabulary, .origin = "v.json"}, E_DATA,
            "is another tokenizer than that of 'v.json'");
    refuses(&(language_options){.tokenizer = path, .vocabulary = "{}", .origin = "v.json"}, E_DATA,
            "'v.json': does not say which tokenizer the training data were read by");
    free(vocabulary);
    free(path);
}

/* --- tokens to text --- */

/* Of the tokens of `text`, behind those of `before`: what each of them gives, with a bar behind it. */
static void expect_stream(const char *before, const char *text, size_t n, const char *expected)
{
    language_tokens *t = opens(&(language_options){.tokenizer = example_folder});
    const record_source sources[] = {source(before), source(text)};
    token_array first, next;
    buf out = BUF_INIT;
    assert_int_equal(language_tokens_begin(t, &sources[0], &first, NULL), OK);
    assert_int_equal(language_tokens_begin(t, &sources[1], &next, NULL), OK);
    token_stream *s = token_stream_create(t, &first);
    for (size_t i = 0; i < next.n && i < n; i++) {
        int64_t token;
        token_array_read(&next, i, 1, &token);
        assert_int_equal(token_stream_add(s, token, &out, NULL), OK);
        buf_adds(&out, "|");
    }
    assert_int_equal(token_stream_end(s, &out, NULL), OK);
    assert_string_equal(out.data ? out.data : "", expected);
    token_stream_destroy(&s);
    token_array_fini(&first);
    token_array_fini(&next);
    language_tokens_close(&t);
    buf_fini(&out);
}

static void test_a_character_is_given_when_it_is_whole(void **state)
{
    (void)state;
    expect_stream("To be", " the\xE4\xB8\xAD.", SIZE_MAX, " the|||\xE4\xB8\xAD|.|");
    expect_stream("To be", "\xF0\x9F\x98\x80\xC3\xA9", SIZE_MAX, "|||\xF0\x9F\x98\x80||\xC3\xA9|");
    expect_stream("caf\xC3\xA9", "\xC3\xA9", SIZE_MAX, "|\xC3\xA9|");
    expect_stream("To be", " the\xE4\xB8\xAD", 3, " the|||\xEF\xBF\xBD");
    expect_stream("To be", "", SIZE_MAX, "");
}

/* Far more tokens than are looked at together. */
static void test_a_stream_is_the_text(void **state)
{
    (void)state;
    buf b = long_text(3000), out = BUF_INIT;
    const record_source text = {"long", (const unsigned char *)b.data, b.size};
    language_tokens *t = opens(&(language_options){.tokenizer = example_folder});
    token_array a;
    assert_int_equal(language_tokens_begin(t, &text, &a, NULL), OK);
    token_stream *s = token_stream_create(t, &(token_array){.n = 0});
    for (size_t i = 0; i < a.n; i++) {
        int64_t token;
        token_array_read(&a, i, 1, &token);
        assert_int_equal(token_stream_add(s, token, &out, NULL), OK);
    }
    assert_int_equal(token_stream_end(s, &out, NULL), OK);
    assert_string_equal(out.data, b.data);
    token_stream_destroy(&s);
    token_array_fini(&a);
    language_tokens_close(&t);
    buf_fini(&out);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_end_stands_behind_each_text),
        cmocka_unit_test(test_tokens_above_65535_take_four_bytes),
        cmocka_unit_test(test_pieces_have_the_tokens_of_the_whole),
        cmocka_unit_test(test_pieces_end_between_characters),
        cmocka_unit_test(test_what_is_no_text_is_named_by_its_byte),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_character_is_given_when_it_is_whole),
        cmocka_unit_test(test_a_stream_is_the_text),
    };
    return cmocka_run_group_tests(tests, folder_set_up, folder_tear_down);
}
