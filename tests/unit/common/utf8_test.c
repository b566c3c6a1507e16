/* UTF-8, by the tables of the standard: every code point there and back, every ill form refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/alloc.h"
#include "common/base/utf8.h"

#include <string.h>

static void test_every_code_point_returns(void **state)
{
    (void)state;
    for (uint32_t code = 0; code < UTF8_CODES; code++) {
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        char text[UTF8_MAX];
        size_t n = utf8_write(code, text);
        uint32_t back = 0;
        assert_int_equal(utf8_decode((const unsigned char *)text, n, &back), n);
        assert_int_equal(back, code);
        if (n > 1)
            assert_int_equal(utf8_decode((const unsigned char *)text, n - 1, &back), 0);
    }
}

static void test_known_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t code;
    } cases[] = {
        {"A", 0x41}, {"\xC3\xA9", 0xE9}, {"\xE4\xB8\xAD", 0x4E2D}, {"\xF0\x9F\x98\x80", 0x1F600}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t code;
        char text[UTF8_MAX];
        size_t n = strlen(cases[i].text);
        assert_int_equal(utf8_decode((const unsigned char *)cases[i].text, n, &code), n);
        assert_int_equal(code, cases[i].code);
        assert_int_equal(utf8_write(code, text), n);
        assert_memory_equal(text, cases[i].text, n);
    }
}

static void test_what_is_no_character_is_marked(void **state)
{
    (void)state;
    char cut[] = "\xA4tell \xC3\xA9\xED\xA0\x80 \xE4\xB8";
    utf8_mend(cut);
    assert_string_equal(cut, "?tell \xC3\xA9??? ??");
}

static void test_ill_forms_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\x80",             /* begins inside a character */
        "\xBF",
        "\xC0\x80",         /* overlong */
        "\xC1\xBF",
        "\xE0\x9F\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xED\xA0\x80",     /* surrogates */
        "\xED\xBF\xBF",
        "\xF4\x90\x80\x80", /* beyond the last code point */
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xC3(",            /* no continuation */
        "\xE4\xB8(",
        "\xF0\x9F\x98(",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t code;
        assert_int_equal(
            utf8_decode((const unsigned char *)cases[i], strlen(cases[i]), &code), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point_returns),
        cmocka_unit_test(test_known_characters),
        cmocka_unit_test(test_what_is_no_character_is_marked),
        cmocka_unit_test(test_ill_forms_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
