/*
 * Tokenizers beyond what golden data show: what is refused and how, roles of tokens, bad text, threads.
 * CTest labels: tsan
 */
#include "common/base/alloc.h"
#include "text/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS "\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"[UNK]\", " \
              "\"vocab\": {\"[UNK]\": 0, \"a\": 1, \"b\": 2, \"c\": 3, \"[CLS]\": 7}}"
#define BERT_WORDS "{\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, " WORDS "}"

static tokenizer *parse(const char *json)
{
    tokenizer *t = NULL;
    error err = ERROR_INIT;
    if (tokenizer_parse(json, strlen(json), "t.json", &t, &err) != OK)
        fail_msg("%s", err.text);
    return t;
}

static void refuses(const char *json, const char *message)
{
    tokenizer *t = NULL;
    error err = ERROR_INIT;
    assert_int_equal(tokenizer_parse(json, strlen(json), "t.json", &t, &err), E_DATA);
    assert_null(t);
    assert_string_equal(err.text, message);
}

static void unknown_pieces_are_refused_by_their_place(void **state)
{
    (void)state;
    refuses("[]", "t.json: is a list; it must be an object");
    refuses("{\"model\": {\"type\": \"Bigram\"}}",
            "t.json: model.type: \"Bigram\" is not known here; known are \"WordPiece\", \"WordLevel\", \"BPE\", "
            "\"Unigram\"");
    refuses("{" WORDS ", \"extra\": 1}", "t.json: extra: this key is not known here");
    refuses("{" WORDS ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, "
            "{\"type\": \"Nmt\"}]}}",
            "t.json: normalizer.normalizers[1].type: \"Nmt\" is not known here; known are "
            "\"BertNormalizer\", \"NFC\", \"NFD\", \"NFKC\", \"NFKD\", \"Lowercase\", \"Strip\", \"StripAccents\", "
            "\"Replace\", \"Prepend\", \"ByteLevel\", \"Precompiled\", \"Sequence\"");
    refuses("{" WORDS ", \"pre_tokenizer\": {\"type\": \"Digits\", \"each\": true}}",
            "t.json: pre_tokenizer.each: this key is not known here");
    refuses("{\"model\": {\"type\": \"BPE\", \"dropout\": 0.1, \"vocab\": {}, \"merges\": []}}",
            "t.json: model.dropout: is not known here; use null, so that a text has one reading");
    refuses("{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": [\"a b\"]}}",
            "t.json: model.merges[0]: 'ab' is not in the vocabulary");
    refuses("{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": -1}}}",
            "t.json: model.vocab: the id of 'a' must be an integer from 0 to 16777215");
    refuses("{\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": [[\"a\", -1.0]]}}",
            "t.json: model.unk_id: 2 is no place in vocab, which has 1");
    refuses("{" WORDS ", \"added_tokens\": [{\"id\": 5, \"content\": \"a\"}]}",
            "t.json: added_tokens[0].id: is 5, but 'a' has the id 1 in the vocabulary");
    refuses("{" WORDS ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(\"}, "
            "\"behavior\": \"Removed\", \"invert\": false}}",
            "t.json: pre_tokenizer.pattern: '(': missing closing parenthesis");
    refuses("{" WORDS ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
            "[{\"SpecialToken\": {\"id\": \"[X]\", \"type_id\": 0}}], \"pair\": [], \"special_tokens\": {}}}",
            "t.json: post_processor.single[0]: '[X]' is not among special_tokens, or has no ids there");
}

/* --- SentencePiece's tables --- */

enum { UNITS = 256, TABLE = 4 + UNITS * 4 + 8 };

static void set_unit(unsigned char *table, size_t i, uint32_t unit)
{
    for (size_t k = 0; k < 4; k++)
        table[4 + i * 4 + k] = (unsigned char)(unit >> 8 * k);
}

/* "a" becomes "xy": the root's children are at 1 ^ byte, those of "a" at 0x60 ^ 1 ^ 2. */
static void make_table(unsigned char table[TABLE])
{
    memset(table, 0, TABLE);
    table[1] = 4; /* 1024 bytes of units */
    set_unit(table, 0, 1u << 10);
    set_unit(table, 'a' ^ 1, 2u << 10 | 0x100u | 'a');
    set_unit(table, 'a' ^ 1 ^ 2, 0x80000000u | 1);
    memcpy(table + TABLE - 8, "\0xy\0z\xC3\xA9", 8);
}

static char *with_table(const unsigned char *table, size_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    buf b = BUF_INIT;
    buf_adds(&b, "{" WORDS ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"");
    for (size_t i = 0; i < bytes; i += 3) {
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++)
            three = three << 8 | (i + k < bytes ? table[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_add(&b, i + k <= bytes ? &digits[three >> (18 - 6 * k) & 63] : "=", 1);
    }
    buf_adds(&b, "\"}}");
    return buf_detach(&b);
}

/* The table with one unit, or its end, as it is given. */
static void refuses_table(size_t unit, uint32_t value, const char *texts, size_t bytes, const char *message)
{
    unsigned char table[TABLE];
    make_table(table);
    memcpy(table + TABLE - 8, texts, 8);
    if (unit < UNITS)
        set_unit(table, unit, value);
    char *json = with_table(table, bytes), expected[200];
    snprintf(expected, sizeof expected, "t.json: normalizer.precompiled_charsmap: %s", message);
    refuses(json, expected);
    free(json);
}

static void damaged_tables_are_refused(void **state)
{
    (void)state;
    static const char good[] = "\0xy\0z\xC3\xA9";
    unsigned char table[TABLE];
    make_table(table);
    char *json = with_table(table, TABLE);
    tokenizer *t = parse(json);
    tokenizer_destroy(&t);
    free(json);
    refuses("{" WORDS ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"AAA!\"}}",
            "t.json: normalizer.precompiled_charsmap: is no base64");
    refuses_table(UNITS, 0, good, 2,
                  "has 2 bytes, and says that 0 of them are a trie; expected a multiple of 1024 that fits");
    refuses_table(UNITS, 0, good, 100,
                  "has 100 bytes, and says that 1024 of them are a trie; expected a multiple of 1024 that fits");
    refuses_table(UNITS, 0, good, TABLE - 8, "its last replacement is not ended by a zero byte");
    refuses_table(UNITS, 0, good, TABLE - 2, "byte 5 of its replacements begins no UTF-8 character");
    refuses_table(UNITS, 0, "abcdefg", TABLE - 1, "its last replacement is not ended by a zero byte");
    refuses_table(0, 0x80000001u, good, TABLE, "its trie has no root");
    refuses_table(7, 256u << 10, good, TABLE, "unit 7 of its trie leads to unit 263; there are 256");
    refuses_table('a' ^ 1 ^ 2, 1, good, TABLE, "unit 98 of its trie has no place among the 8 bytes of replacements");
    refuses_table('a' ^ 1 ^ 2, 0x80000008u, good, TABLE,
                  "unit 98 of its trie has no place among the 8 bytes of replacements");
    refuses_table('a' ^ 1 ^ 2, 0x80000006u, good, TABLE,
                  "unit 98 of its trie has no place among the 8 bytes of replacements");
}

static status encode(const tokenizer *t, const char *text, size_t bytes, const tokenizer_options *o,
                     tokenizer_scratch *s, tokenizer_encodings *ret, error *err)
{
    tokenizer_input input = {text, bytes};
    return tokenizer_encode(t, &input, NULL, o, s, ret, err);
}

static void text_that_is_none_is_refused_with_its_byte(void **state)
{
    (void)state;
    tokenizer *t = parse(BERT_WORDS);
    tokenizer_scratch *s = tokenizer_scratch_create();
    static const char *const bad[] = {"ab \xff", "ab \xc0\x80", "ab \xed\xa0\x80", "ab \xf4\x90\x80\x80",
                                      "ab \xe2\x82"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        error err = ERROR_INIT;
        tokenizer_encodings e;
        assert_int_equal(encode(t, bad[i], strlen(bad[i]), NULL, s, &e, &err), E_DATA);
        char want[64];
        snprintf(want, sizeof want, "the text: byte 3 (%02x) begins no UTF-8 character", (unsigned char)bad[i][3]);
        assert_string_equal(err.text, want);
    }
    tokenizer_encodings e;
    assert_int_equal(encode(t, "a\0b", 3, NULL, s, &e, NULL), OK);
    assert_int_equal(e.at[0].n, 1);
    assert_int_equal(e.at[0].bytes[0].end, 3);
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
}

static void a_word_without_a_token_for_unknown_ones_is_an_error(void **state)
{
    (void)state;
    tokenizer *t = parse("{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}");
    tokenizer_scratch *s = tokenizer_scratch_create();
    tokenizer_encodings e;
    error err = ERROR_INIT;
    assert_int_equal(encode(t, "b", 1, NULL, s, &e, &err), E_DATA);
    assert_string_equal(err.text,
                        "the text: a word is not in the vocabulary, which has no token for unknown ones");
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
}

static void truncation_that_leaves_nothing_is_an_error(void **state)
{
    (void)state;
    tokenizer *t = parse(BERT_WORDS);
    tokenizer_scratch *s = tokenizer_scratch_create();
    tokenizer_encodings e;
    error err = ERROR_INIT;
    tokenizer_truncation truncation = {.max_length = 2, .stride = 2};
    assert_int_equal(encode(t, "a b c", 5, &(tokenizer_options){.truncation = &truncation}, s, &e, &err), E_DATA);
    assert_string_equal(err.text,
                        "truncation leaves 2 tokens of a text, which must be more than its stride, 2");
    truncation.stride = 1;
    assert_int_equal(encode(t, "a b c", 5, &(tokenizer_options){.truncation = &truncation}, s, &e, NULL), OK);
    assert_int_equal(e.n, 2);
    assert_int_equal(e.at[1].ids[0], 2);
    assert_int_equal(e.at[1].ids[1], 3);
    assert_int_equal(e.at[1].characters[1].begin, 4);
    truncation.strategy = TOKENIZER_ONLY_SECOND;
    error_clear(&err);
    assert_int_equal(encode(t, "a b c", 5, &(tokenizer_options){.truncation = &truncation}, s, &e, &err), E_DATA);
    assert_string_equal(err.text, "truncation is for the second text, and there is only one");
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
}

/* The text is so many times 'a'. */
static void refuses_text(const char *json, size_t bytes, const char *message)
{
    tokenizer *t = parse(json);
    tokenizer_scratch *s = tokenizer_scratch_create();
    tokenizer_encodings all;
    error err = ERROR_INIT;
    char *text = xmalloc(bytes);
    memset(text, 'a', bytes);
    assert_int_equal(encode(t, text, bytes, NULL, s, &all, &err), E_DATA);
    assert_non_null(strstr(err.text, message));
    free(text);
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
}

static void what_would_never_end_is_refused(void **state)
{
    (void)state;
#define TWICE "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(?=a)|(?<=a)\"}, \"content\": \"aaaaaaaa\"}"
#define FOLD TWICE ", " TWICE ", " TWICE ", " TWICE
    refuses_text("{" WORDS ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [" FOLD ", " FOLD "]}}", 3000,
                 "the tokenizer's normalizers make a text 64 times as long, and longer");
    refuses_text("{" WORDS ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(a|aa)+[bc]\"}, "
                 "\"behavior\": \"Isolated\", \"invert\": false}}", 3000,
                 "a pattern of the tokenizer, at byte 0 of 3000: match limit exceeded");

    tokenizer *t = parse("{" WORDS ", \"decoder\": {\"type\": \"Sequence\", \"decoders\": [" FOLD ", " FOLD "]}}");
    buf text = BUF_INIT;
    error err = ERROR_INIT;
    assert_int_equal(tokenizer_decode(t, (int32_t[]){1}, 1, false, &text, &err), E_DATA);
    assert_non_null(strstr(err.text, "the tokenizer's decoders make a text of more than 65600 bytes of these tokens"));
    buf_fini(&text);
    tokenizer_destroy(&t);
}

static void sizes_and_roles_are_told(void **state)
{
    (void)state;
    tokenizer *t = parse("{" WORDS ", \"added_tokens\": [{\"id\": 9, \"content\": \"<mask>\", \"special\": true}]}");
    assert_int_equal(tokenizer_size(t), 10);
    assert_int_equal(tokenizer_special(t, TOKENIZER_CLS), 7);
    assert_int_equal(tokenizer_special(t, TOKENIZER_UNK), 0);
    assert_int_equal(tokenizer_special(t, TOKENIZER_MASK), 9);
    assert_int_equal(tokenizer_special(t, TOKENIZER_SEP), TOKENIZER_NO_TOKEN);
    assert_int_equal(tokenizer_id(t, "b"), 2);
    assert_int_equal(tokenizer_id(t, "z"), TOKENIZER_NO_TOKEN);
    assert_string_equal(tokenizer_text(t, 9, NULL), "<mask>");
    assert_null(tokenizer_text(t, 8, NULL));
    assert_null(tokenizer_text(t, 1000, NULL));
    tokenizer_destroy(&t);
}

static void a_scratch_serves_several_tokenizers(void **state)
{
    (void)state;
    tokenizer *one = parse(BERT_WORDS), *other = parse("{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 5}}}");
    tokenizer_scratch *s = tokenizer_scratch_create();
    tokenizer_encodings e;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(encode(one, "a", 1, NULL, s, &e, NULL), OK);
        assert_int_equal(e.at[0].ids[0], 1);
        assert_int_equal(encode(other, "a", 1, NULL, s, &e, NULL), OK);
        assert_int_equal(e.at[0].ids[0], 5);
    }
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&one);
    tokenizer_destroy(&other);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *encode_often(void *user)
{
    tokenizer_scratch *s = tokenizer_scratch_create();
    size_t wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        char text[32];
        tokenizer_encodings e;
        int n = snprintf(text, sizeof text, "a b%d c", i % 50);
        bool good = encode(user, text, (size_t)n, NULL, s, &e, NULL) == OK && e.at[0].n == 3 &&
                    e.at[0].ids[0] == 1 && e.at[0].ids[1] == 0 && e.at[0].ids[2] == 3;
        wrong += !good;
    }
    tokenizer_scratch_destroy(&s);
    return (void *)wrong;
}

static void threads_share_a_tokenizer(void **state)
{
    (void)state;
    tokenizer *t = parse(BERT_WORDS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, encode_often, t), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    tokenizer_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_pieces_are_refused_by_their_place),
        cmocka_unit_test(damaged_tables_are_refused),
        cmocka_unit_test(text_that_is_none_is_refused_with_its_byte),
        cmocka_unit_test(a_word_without_a_token_for_unknown_ones_is_an_error),
        cmocka_unit_test(truncation_that_leaves_nothing_is_an_error),
        cmocka_unit_test(what_would_never_end_is_refused),
        cmocka_unit_test(sizes_and_roles_are_told),
        cmocka_unit_test(a_scratch_serves_several_tokenizers),
        cmocka_unit_test(threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
