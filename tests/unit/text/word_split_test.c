/* Words and lower case against what Python's own definitions give, by tests/golden/make_words.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/json.h"
#include "text/word_split.h"

#include <string.h>

static void expect_words(const json_t *one, const char *name)
{
    const char *text = json_string_value(json_object_get(one, "text")), *word;
    const json_t *expected = json_object_get(one, name);
    size_t bytes = strlen(text), at = 0, n = 0, word_bytes;
    word_split how;
    assert_true(word_split_of(name, &how));
    assert_string_equal(word_split_name(how), name);
    for (; word_split_next(how, text, bytes, &at, &word, &word_bytes); n++) {
        const char *wanted = json_string_value(json_array_get(expected, n));
        if (!wanted || strlen(wanted) != word_bytes || memcmp(wanted, word, word_bytes) != 0)
            fail_msg("%s of '%s': word %zu is '%.*s', expected '%s'", name, text, n, (int)word_bytes, word,
                     wanted ? wanted : "none");
    }
    if (n != json_array_size(expected))
        fail_msg("%s of '%s': %zu words, expected %zu", name, text, n, json_array_size(expected));
}

static void test_as_python_has_them(void **state)
{
    (void)state;
    json_t *all = NULL;
    size_t i;
    const json_t *one;
    assert_int_equal(json_read_file(TEST_DATA_DIR "/words.json", &all, NULL), OK);
    assert_true(json_array_size(json_object_get(all, "cases")) > 100);
    json_array_foreach(json_object_get(all, "cases"), i, one) {
        expect_words(one, "whitespace");
        expect_words(one, "letters_digits");
        expect_words(one, "character");
        buf lower = BUF_INIT;
        const char *text = json_string_value(json_object_get(one, "text"));
        buf_adds(&lower, "");
        word_lower(text, strlen(text), &lower);
        const char *wanted = json_string_value(json_object_get(one, "lower"));
        if (strcmp(lower.data ? lower.data : "", wanted) != 0)
            fail_msg("lower case of '%s': '%s', expected '%s'", text, lower.data, wanted);
        buf_fini(&lower);
    }
    json_decref(all);
}

static void test_names(void **state)
{
    (void)state;
    word_split how;
    assert_true(word_split_of("just_spaces", &how));
    assert_int_equal(how, WORDS_WHITESPACE);
    assert_false(word_split_of("spacy", &how));
    assert_false(word_split_of("", &how));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_python_has_them),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
