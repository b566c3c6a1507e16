/*
 * What a code point is: letter, number, white space and so on, as Hugging Face's `tokenizers` takes it, and its
 * lower case. The table is chars.def, which scripts/text-chars writes; so it does not depend on the Unicode of
 * any library that is installed.
 *
 * Threads: chars_prepare may be called by any number of them at once, and comes before the others, which are pure.
 */
#ifndef TEQUIO_TEXT_CHARS_H
#define TEQUIO_TEXT_CHARS_H

#include "common/base/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHAR_LETTER = 1 << 0,     /* \p{L} of a pattern */
    CHAR_NUMBER = 1 << 1,     /* \p{N} of a pattern */
    CHAR_SPACE = 1 << 2,      /* White_Space */
    CHAR_WORD = 1 << 3,       /* \w: letters, marks, digits, connectors */
    CHAR_PUNCTUATION = 1 << 4,/* category P, and ASCII's symbols */
    CHAR_DIRT = 1 << 5,       /* what BERT's cleaning removes: control, format, private use, U+0000, U+FFFD */
    CHAR_NONSPACING = 1 << 6, /* category Mn */
    CHAR_MARK = 1 << 7,       /* category M */
    CHAR_NUMERIC = 1 << 8,    /* category N */
    CHAR_RECENT = 1 << 9,     /* newer than the Unicode by which text is decomposed and composed */
};

void chars_prepare(void);

enum { CHARS_PAGE = 256 };
extern uint16_t chars_pages[UTF8_CODES / CHARS_PAGE];
extern uint16_t chars_bits[][CHARS_PAGE];

static inline uint32_t chars_of(uint32_t code)
{
    return chars_bits[chars_pages[code / CHARS_PAGE]][code % CHARS_PAGE];
}
static inline bool chars_is(uint32_t code, uint32_t any_of)
{
    return (chars_of(code) & any_of) != 0;
}

/* What Python's str.isspace and str.split take for white space: ASCII's four separators too. */
static inline bool chars_is_blank(uint32_t code)
{
    return chars_is(code, CHAR_SPACE) || (code >= 0x1c && code <= 0x1f);
}

/* One or two code points, of which there are as many as it returns. */
size_t chars_lower(uint32_t code, uint32_t ret[2]);

/* Of text that is known to be UTF-8: the code point there, and its bytes. */
static inline uint32_t chars_next(const char *text, size_t *ret_bytes)
{
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] < 0x80) {
        *ret_bytes = 1;
        return t[0];
    }
    if (t[0] < 0xE0) {
        *ret_bytes = 2;
        return (t[0] & 0x1Fu) << 6 | (t[1] & 0x3Fu);
    }
    if (t[0] < 0xF0) {
        *ret_bytes = 3;
        return (t[0] & 0x0Fu) << 12 | (t[1] & 0x3Fu) << 6 | (t[2] & 0x3Fu);
    }
    *ret_bytes = 4;
    return (t[0] & 0x07u) << 18 | (t[1] & 0x3Fu) << 12 | (t[2] & 0x3Fu) << 6 | (t[3] & 0x3Fu);
}

/* How many characters these bytes are. */
static inline size_t chars_count(const char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

/* Where the character begins that ends before text[end]: end > 0. */
static inline size_t chars_back(const char *text, size_t end)
{
    do
        end--;
    while (((unsigned char)text[end] & 0xC0) == 0x80);
    return end;
}

#endif
