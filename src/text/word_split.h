/*
 * Texts to words as AllenNLP's tokenizers of words part them, which are definitions of Python's:
 *
 *   whitespace       str.split(); just_spaces is another name
 *   letters_digits   runs of letters, runs of decimal digits, and every other character that is no white space:
 *                    [^\W\d_]+|\d+|\S
 *   character        characters
 *
 * and a word's lower case, as str.lower() makes it.
 *
 * Texts are known to be UTF-8. Pure functions.
 */
#ifndef TEQUIO_TEXT_WORD_SPLIT_H
#define TEQUIO_TEXT_WORD_SPLIT_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum word_split { WORDS_WHITESPACE, WORDS_LETTERS_DIGITS, WORDS_CHARACTER } word_split;

/* By its name; false: none is called so. */
bool word_split_of(const char *name, word_split *ret);
const char *word_split_name(word_split how);

/* The next word at byte *at or behind, and *at behind it; false: there is none any more. */
bool word_split_next(word_split how, const char *text, size_t bytes, size_t *at, const char **ret, size_t *ret_bytes);

/* Appends the lower case. */
void word_lower(const char *text, size_t bytes, buf *ret);

#endif
