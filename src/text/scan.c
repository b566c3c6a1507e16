/* See scan.h. */
#include "text/scan.h"

#include "common/base/alloc.h"
#include "text/chars.h"

#include <string.h>
#include <strings.h>

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define LLAMA3(digits)                                                                                       \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" digits                                  \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

enum { OTHER = 0 }; /* neither letter, number nor white space */

/* What a character counts as: CHAR_LETTER, CHAR_NUMBER, CHAR_SPACE or OTHER. */
static uint32_t kind_of(uint32_t code)
{
    return chars_of(code) & (CHAR_LETTER | CHAR_NUMBER | CHAR_SPACE);
}

/* The end of up to `most` characters of one kind. */
static uint32_t run_end(const char *text, uint32_t bytes, uint32_t at, uint32_t kind, uint32_t most)
{
    size_t n = 0;
    for (; at < bytes && most > 0 && kind_of(chars_next(text + at, &n)) == kind; most--)
        at += (uint32_t)n;
    return at;
}

/* White space that begins at `at`: the last character of it belongs to the word behind, unless it is all. */
static uint32_t space_end(const char *text, uint32_t bytes, uint32_t at)
{
    uint32_t end = run_end(text, bytes, at, CHAR_SPACE, UINT32_MAX);
    uint32_t last = (uint32_t)chars_back(text, end);
    return end < bytes && last > at ? last : end;
}

/* 's, 't, 're, ...; 0: none. With `folds` in capitals too, and with a long s. */
static uint32_t contraction_end(const char *text, uint32_t bytes, uint32_t at, bool folds)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (text[at] != '\'')
        return 0;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        uint32_t n = (uint32_t)strlen(endings[i]);
        if (bytes - at <= n)
            continue;
        if ((folds ? strncasecmp : strncmp)(text + at + 1, endings[i], n) == 0)
            return at + 1 + n;
    }
    bool is_long_s = folds && bytes - at > 2 && memcmp(text + at + 1, "\xC5\xBF", 2) == 0;
    return is_long_s ? at + 3 : 0;
}

uint32_t scan_gpt2(const char *text, uint32_t bytes, uint32_t at)
{
    uint32_t end = contraction_end(text, bytes, at, false);
    if (end)
        return end;
    uint32_t from = at + (text[at] == ' ' && at + 1 < bytes);
    size_t n = 0;
    uint32_t kind = kind_of(chars_next(text + from, &n));
    if (kind == CHAR_SPACE)
        return space_end(text, bytes, at);
    return run_end(text, bytes, from, kind, UINT32_MAX);
}

static bool is_line_end(char c)
{
    return c == '\r' || c == '\n';
}

/* White space up to its last line end; else as space_end. */
static uint32_t lines_end(const char *text, uint32_t bytes, uint32_t at)
{
    uint32_t end = run_end(text, bytes, at, CHAR_SPACE, UINT32_MAX);
    for (uint32_t i = end; i > at; i--)
        if (is_line_end(text[i - 1]))
            return i;
    return space_end(text, bytes, at);
}

static uint32_t scan_llama3(const char *text, uint32_t bytes, uint32_t at, uint32_t digits)
{
    uint32_t end = contraction_end(text, bytes, at, true);
    if (end)
        return end;
    size_t n = 0, n_next = 0;
    uint32_t kind = kind_of(chars_next(text + at, &n)), next = at + (uint32_t)n;
    if (kind == CHAR_LETTER)
        return run_end(text, bytes, at, CHAR_LETTER, UINT32_MAX);
    if (kind == CHAR_NUMBER)
        return run_end(text, bytes, at, CHAR_NUMBER, digits);
    uint32_t behind = next < bytes ? kind_of(chars_next(text + next, &n_next)) : CHAR_SPACE;
    if (behind == CHAR_LETTER && !is_line_end(text[at]))
        return run_end(text, bytes, next, CHAR_LETTER, UINT32_MAX);
    if (kind == OTHER || (text[at] == ' ' && behind == OTHER)) {
        end = run_end(text, bytes, kind == OTHER ? at : next, OTHER, UINT32_MAX);
        while (end < bytes && is_line_end(text[end]))
            end++;
        return end;
    }
    return lines_end(text, bytes, at);
}

static uint32_t scan_three_digits(const char *text, uint32_t bytes, uint32_t at)
{
    return scan_llama3(text, bytes, at, 3);
}

static uint32_t scan_one_digit(const char *text, uint32_t bytes, uint32_t at)
{
    return scan_llama3(text, bytes, at, 1);
}

scan *scan_of(const char *regex)
{
    static const struct {
        const char *regex;
        scan *scan;
    } known[] = {{GPT2, scan_gpt2}, {LLAMA3("{1,3}"), scan_three_digits}, {LLAMA3(""), scan_one_digit}};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(regex, known[i].regex) == 0)
            return known[i].scan;
    return NULL;
}
