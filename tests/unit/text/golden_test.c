/*
 * What tokenizers of many shapes make of texts is what Hugging Face's `tokenizers` makes of them, in everything
 * that there is about the tokens: golden data that tests/golden/make_text.py has written.
 */
#include "common/base/alloc.h"
#include "common/base/fs.h"
#include "common/base/json.h"
#include "text/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *golden(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.json", TEST_DATA_DIR, name);
    json_t *whole = json_load_file(path, JSON_ALLOW_NUL, NULL);
    assert_non_null(whole);
    return whole;
}

static tokenizer *open_of(const json_t *whole)
{
    char *text = json_text(json_object_get(whole, "tokenizer"));
    tokenizer *t = NULL;
    error err = ERROR_INIT;
    if (tokenizer_parse(text, strlen(text), "tokenizer.json", &t, &err) != OK)
        fail_msg("%s", err.text);
    free(text);
    return t;
}

static int place_of(const char *word, const char *const *words)
{
    int i = 0;
    while (strcmp(word, words[i]) != 0)
        i++;
    return i;
}

static tokenizer_truncation truncation_of(const json_t *list)
{
    static const char *const strategies[] = {"longest_first", "only_first", "only_second"};
    static const char *const sides[] = {"right", "left"};
    if (!list)
        return (tokenizer_truncation){.max_length = 0};
    return (tokenizer_truncation){
        .max_length = json_integer_value(json_array_get(list, 0)),
        .stride = json_integer_value(json_array_get(list, 1)),
        .strategy = (tokenizer_strategy)place_of(json_string_value(json_array_get(list, 2)), strategies),
        .side = (tokenizer_side)place_of(json_string_value(json_array_get(list, 3)), sides)};
}

static tokenizer_padding padding_of(const json_t *value)
{
    const char *direction = json_string_value(json_object_get(value, "direction"));
    return (tokenizer_padding){.is_on = value != NULL,
                               .length = json_integer_value(json_object_get(value, "length")),
                               .multiple_of = json_integer_value(json_object_get(value, "pad_to_multiple_of")),
                               .id = (int32_t)json_integer_value(json_object_get(value, "pad_id")),
                               .side = direction && strcmp(direction, "left") == 0 ? TOKENIZER_LEFT
                                                                                   : TOKENIZER_RIGHT};
}

typedef struct place {
    const char *name;
    size_t number, window;
} place;

/* `usual` is what it is where the file does not say. */
static void expect(place at, const char *what, const json_t *window, size_t i, json_int_t ours, json_int_t usual)
{
    const json_t *list = json_object_get(window, what);
    json_int_t theirs = list ? json_integer_value(json_array_get(list, i)) : usual;
    if (ours != theirs)
        fail_msg("%s: case %zu: window %zu: %s[%zu] is %lld, not %lld", at.name, at.number, at.window, what, i,
                 (long long)ours, (long long)theirs);
}

/* The bytes in front of `characters` of a text. */
static uint32_t bytes_before(const tokenizer_input *text, uint32_t characters)
{
    size_t at = 0;
    for (; at < text->bytes; at++)
        if (((unsigned char)text->text[at] & 0xC0) != 0x80 && characters-- == 0)
            break;
    return (uint32_t)at;
}

static void expect_window(place at, const json_t *window, const tokenizer_encoding *e, const tokenizer_input *texts)
{
    size_t n = json_array_size(json_object_get(window, "ids"));
    if (e->n != n)
        fail_msg("%s: case %zu: window %zu has %zu tokens, not %zu", at.name, at.number, at.window, e->n, n);
    for (size_t i = 0; i < n; i++) {
        const tokenizer_input *text = &texts[e->sequences[i] > 0];
        expect(at, "ids", window, i, e->ids[i], -1);
        expect(at, "type_ids", window, i, e->type_ids[i], 0);
        expect(at, "words", window, i, e->words[i], -1);
        expect(at, "sequences", window, i, e->sequences[i], 0);
        expect(at, "special", window, i, e->special[i], 0);
        expect(at, "attention", window, i, e->attention[i], 1);
        expect(at, "characters", window, 2 * i, e->characters[i].begin, -1);
        expect(at, "characters", window, 2 * i + 1, e->characters[i].end, -1);
        assert_int_equal(e->bytes[i].begin, bytes_before(text, e->characters[i].begin));
        assert_int_equal(e->bytes[i].end, bytes_before(text, e->characters[i].end));
    }
}

static void expect_decoded(place at, const tokenizer *t, const tokenizer_encoding *e, const json_t *one)
{
    static const char *const keys[] = {"decoded", "skipped"};
    for (int skip = 0; skip < 2; skip++) {
        buf text = BUF_INIT;
        const json_t *theirs = json_object_get(one, keys[skip]);
        assert_int_equal(tokenizer_decode(t, e->ids, e->n, skip, &text, NULL), OK);
        if (text.size != json_string_length(theirs) ||
            (text.size > 0 && memcmp(text.data, json_string_value(theirs), text.size) != 0))
            fail_msg("%s: case %zu: %s: '%s', not '%s'", at.name, at.number, keys[skip], text.data,
                     json_string_value(theirs));
        buf_fini(&text);
    }
}

static void expect_case(place at, const tokenizer *t, tokenizer_scratch *s, const json_t *one)
{
    const json_t *text = json_object_get(one, "text"), *pair = json_object_get(one, "pair");
    const json_t *windows = json_object_get(one, "windows");
    tokenizer_input texts[2] = {{json_string_value(text), json_string_length(text)},
                                {json_string_value(pair), json_string_length(pair)}};
    tokenizer_truncation truncation = truncation_of(json_object_get(one, "truncation"));
    tokenizer_padding padding = padding_of(json_object_get(one, "padding"));
    tokenizer_options options = {.truncation = &truncation, .padding = &padding};
    tokenizer_encodings all;
    error err = ERROR_INIT;
    if (tokenizer_encode(t, &texts[0], pair ? &texts[1] : NULL, &options, s, &all, &err) != OK)
        fail_msg("%s: case %zu: %s", at.name, at.number, err.text);
    assert_int_equal(all.n, json_array_size(windows));
    for (at.window = 0; at.window < all.n; at.window++)
        expect_window(at, json_array_get(windows, at.window), &all.at[at.window], texts);
    expect_decoded(at, t, &all.at[0], one);
}

static void expect_shape(void **state)
{
    const char *name = *state;
    json_t *whole = golden(name);
    const json_t *cases = json_object_get(whole, "cases");
    tokenizer *t = open_of(whole);
    tokenizer_scratch *s = tokenizer_scratch_create();
    assert_true(json_array_size(cases) > 40);
    for (int again = 0; again < 2; again++) /* the second time words are known already */
        for (size_t i = 0; i < json_array_size(cases); i++)
            expect_case((place){name, i, 0}, t, s, json_array_get(cases, i));
    tokenizer_scratch_destroy(&s);
    tokenizer_destroy(&t);
    json_decref(whole);
}

int main(void)
{
    static char *const shapes[] = {"bert",        "bert-cased",     "gpt2",           "roberta",
                                   "llama3",      "qwen2",          "llama2",         "t5",
                                   "unigram",     "word-level",     "bpe",            "split-next",
                                   "split-previous", "split-removed", "split-inverted", "split-contiguous",
                                   "xlm-roberta"};
    struct CMUnitTest tests[COUNT_OF(shapes)];
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        tests[i] = (struct CMUnitTest){shapes[i], expect_shape, NULL, NULL, shapes[i]};
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
