/*
 * Words of Google's enumerations, as people and its tools write them: case is not looked at, and
 * '-' and '_' are the same. BASIC_GPU, basic-gpu and Basic_GPU are one word.
 * Threads: pure functions.
 */
#ifndef TEQUIO_COMMON_BASE_ENUM_NAME_H
#define TEQUIO_COMMON_BASE_ENUM_NAME_H

#include <stdbool.h>
#include <stddef.h>

bool enum_name_is(const char *text, const char *word);

/* Where the word that `text` spells stands in a list with `between` between words ("BASIC CUSTOM");
 * *ret_bytes is its length. NULL: it is none of them. */
const char *enum_name_find(const char *list, char between, const char *text, size_t *ret_bytes);

#endif
