/*
 * The regular expressions by which GPT-2 and its successors part a text, written out: they follow chars.def, and
 * are faster than PCRE2. Pure functions.
 */
#ifndef TEQUIO_TEXT_SCAN_H
#define TEQUIO_TEXT_SCAN_H

#include <stdint.h>

/* Where the word ends that begins at `at`: at < bytes. Words follow each other without a gap. */
typedef uint32_t scan(const char *text, uint32_t bytes, uint32_t at);

/* NULL: the expression is none of those. */
scan *scan_of(const char *regex);

/* GPT-2's own. */
uint32_t scan_gpt2(const char *text, uint32_t bytes, uint32_t at);

#endif
