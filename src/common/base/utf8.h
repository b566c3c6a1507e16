/*
 * UTF-8 (Unicode 15, section 3.9; RFC 3629): strict, that is no overlong form, no surrogate,
 * nothing beyond U+10FFFF. Pure functions.
 */
#ifndef TEQUIO_COMMON_BASE_UTF8_H
#define TEQUIO_COMMON_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_MAX = 4, UTF8_CODES = 0x110000 };

/* Is the whole of a string UTF-8? */
bool utf8_valid(const char *text);
/* Puts a '?' in place of every byte that belongs to no character: of text that was cut, or is of strangers. */
void utf8_mend(char *text);
/* Bytes of the first character of `text` (1 to 4), 0 if that is none: bytes > 0. */
size_t utf8_decode(const unsigned char *text, size_t bytes, uint32_t *ret_code);

/* Writes a code point; returns its bytes. */
size_t utf8_write(uint32_t code, char ret[UTF8_MAX]);

#endif
