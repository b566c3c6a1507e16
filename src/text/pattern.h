/*
 * Where a text is parted or replaced: a literal, or a regular expression of Oniguruma's dialect, by PCRE2. What
 * the two read differently is refused or translated. \p{L}, \p{N}, \w and \s are as chars.h says; other classes follow
 * the Unicode of the PCRE2 that is installed.
 *
 * Threads: a pattern does not change once it is made; a pattern_scratch belongs to one thread at a time.
 */
#ifndef TEQUIO_TEXT_PATTERN_H
#define TEQUIO_TEXT_PATTERN_H

#include "common/base/error.h"
#include "common/base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pattern pattern;
typedef struct pattern_scratch pattern_scratch;

/* `place` names it in messages. */
MUST_USE status pattern_literal(const char *text, size_t bytes, const char *place, pattern **ret, error *err);
MUST_USE status pattern_regex(const char *regex, const char *place, pattern **ret, error *err);
/* As a tokenizer.json has it: {"String": ...} or {"Regex": ...}. */
MUST_USE status pattern_load(const json_t *value, const char *place, pattern **ret, bool *ret_is_regex, error *err);
void pattern_destroy(pattern **p);

pattern_scratch *pattern_scratch_create(void);
void pattern_scratch_destroy(pattern_scratch **s);

/* The first match at or behind `from`: begins at *ret_begin, ends before *ret_end; or none. E_DATA when the
 * expression wants more steps or memory than it may. */
MUST_USE status pattern_find(const pattern *p, pattern_scratch *s, const char *text, uint32_t bytes, uint32_t from,
                             bool *ret_found, uint32_t *ret_begin, uint32_t *ret_end, error *err);

void pattern_library_version(char *ret, size_t bytes);

#endif
