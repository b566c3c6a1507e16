/* See word_split.h. */
#include "text/word_split.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <string.h>
#include <utf8proc.h>

static const struct {
    const char *name;
    word_split how;
} names[] = {
    {"whitespace", WORDS_WHITESPACE},
    {"letters_digits", WORDS_LETTERS_DIGITS},
    {"character", WORDS_CHARACTER},
    {"just_spaces", WORDS_WHITESPACE},
};

bool word_split_of(const char *name, word_split *ret)
{
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i].name, name) == 0) {
            *ret = names[i].how;
            return true;
        }
    return false;
}

const char *word_split_name(word_split how)
{
    return names[how].name;
}

/* --- words --- */

/* What characters of a run have in common; each of the others is a word by itself. */
typedef enum run { BLANK, LETTERS, DIGITS, OTHER } run;

/* \w of Python's patterns is what str.isalnum takes, and the underscore: letters and all that has a numeric value. */
static run run_of(uint32_t code)
{
    if (chars_is_blank(code))
        return BLANK;
    if (utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_ND)
        return DIGITS;
    return chars_is(code, CHAR_LETTER | CHAR_NUMERIC) ? LETTERS : OTHER;
}

static run run_at(word_split how, const char *text, size_t *ret_bytes)
{
    uint32_t code = chars_next(text, ret_bytes);
    if (how == WORDS_CHARACTER)
        return OTHER;
    if (how == WORDS_WHITESPACE)
        return chars_is_blank(code) ? BLANK : LETTERS;
    return run_of(code);
}

bool word_split_next(word_split how, const char *text, size_t bytes, size_t *at, const char **ret, size_t *ret_bytes)
{
    run first = BLANK;
    size_t from = *at, end = *at, n = 0;
    chars_prepare();
    while (end < bytes && first == BLANK) {
        from = end;
        first = run_at(how, text + from, &n);
        end = from + n;
    }
    while (end < bytes && (first == LETTERS || first == DIGITS) && run_at(how, text + end, &n) == first)
        end += n;
    *at = end;
    *ret = text + from;
    *ret_bytes = end - from;
    return first != BLANK;
}

/* --- lower case --- */

enum { CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };

/* Cased and Case_Ignorable of Unicode, by which a sigma is the last of its word. */
static bool is_cased(uint32_t code)
{
    static const uint32_t no_letters[][2] = {{0xAA, 0xAA}, {0xBA, 0xBA}, {0x2160, 0x217F}, {0x24B6, 0x24E9},
                                             {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
    for (size_t i = 0; i < COUNT_OF(no_letters); i++)
        if (code >= no_letters[i][0] && code <= no_letters[i][1])
            return true;
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c == UTF8PROC_CATEGORY_LU || c == UTF8PROC_CATEGORY_LL || c == UTF8PROC_CATEGORY_LT;
}

static bool is_passed_over(uint32_t code)
{
    static const uint32_t within_words[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                            0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < COUNT_OF(within_words); i++)
        if (code == within_words[i])
            return true;
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)code);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_ME || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_LM || c == UTF8PROC_CATEGORY_SK;
}

static bool is_behind_cased(const char *text, size_t at)
{
    size_t n;
    while (at > 0) {
        at = chars_back(text, at);
        uint32_t code = chars_next(text + at, &n);
        if (!is_passed_over(code))
            return is_cased(code);
    }
    return false;
}

static bool is_before_cased(const char *text, size_t bytes, size_t at)
{
    for (size_t n; at < bytes; at += n) {
        uint32_t code = chars_next(text + at, &n);
        if (!is_passed_over(code))
            return is_cased(code);
    }
    return false;
}

void word_lower(const char *text, size_t bytes, buf *ret)
{
    char utf8[UTF8_MAX];
    chars_prepare();
    for (size_t at = 0, n; at < bytes; at += n) {
        uint32_t code = chars_next(text + at, &n), low[2];
        size_t codes = chars_lower(code, low);
        if (code == CAPITAL_SIGMA && is_behind_cased(text, at) && !is_before_cased(text, bytes, at + n))
            low[0] = FINAL_SIGMA;
        for (size_t i = 0; i < codes; i++)
            buf_add(ret, utf8, utf8_write(low[i], utf8));
    }
}
