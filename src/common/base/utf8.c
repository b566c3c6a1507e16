/* See utf8.h. */
#include "common/base/utf8.h"

#include <string.h>

/* What a first byte promises: bytes in all, and the least code point that needs so many. */
static size_t utf8_length_of(unsigned char first, uint32_t *ret_least)
{
    if (first >= 0xF0 && first <= 0xF4) {
        *ret_least = 0x10000;
        return 4;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        *ret_least = 0x800;
        return 3;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        *ret_least = 0x80;
        return 2;
    }
    return 0;
}

size_t utf8_decode(const unsigned char *text, size_t bytes, uint32_t *ret_code)
{
    if (text[0] < 0x80) {
        *ret_code = text[0];
        return 1;
    }
    uint32_t least = 0;
    size_t n = utf8_length_of(text[0], &least);
    if (n == 0 || n > bytes)
        return 0;
    uint32_t code = text[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3Fu);
    }
    if (code < least || code >= UTF8_CODES || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    *ret_code = code;
    return n;
}

bool utf8_valid(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    uint32_t code;
    for (size_t left = strlen(text), n; left; left -= n, p += n)
        if ((n = utf8_decode(p, left, &code)) == 0)
            return false;
    return true;
}

void utf8_mend(char *text)
{
    unsigned char *p = (unsigned char *)text;
    uint32_t code;
    for (size_t left = strlen(text), n; left; left -= n, p += n) {
        n = utf8_decode(p, left, &code);
        if (n > 0)
            continue;
        *p = '?';
        n = 1;
    }
}

size_t utf8_write(uint32_t code, char ret[UTF8_MAX])
{
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6)
        ret[i] = (char)(0x80 | (code & 0x3F));
    ret[0] = (char)(n == 1 ? code : lead[n] | code);
    return n;
}
