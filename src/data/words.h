/*
 * Words: a set of strings that are numbered as they come, and may be put in order at the end.
 * Threads: one at a time; any number may look up once nothing is added any more.
 */
#ifndef TEQUIO_DATA_WORDS_H
#define TEQUIO_DATA_WORDS_H

#include <stdint.h>

typedef struct words words;

words *words_create(void);
void words_destroy(words **w);
int32_t words_count(const words *w);
const char *words_at(const words *w, int32_t number);
int32_t words_find(const words *w, const char *text);       /* -1: is not there */
int32_t words_add(words *w, const char *text);              /* its number, old or new */

uint64_t words_hash(const char *text);                      /* the same everywhere */

/* Numbers anew those from `first` on, numbers by their value if all of them are such (digits), else by their bytes.
 * ret_new[old number] is the new one, of all words. */
void words_sort_from(words *w, int32_t first, int32_t *ret_new);
void words_sort(words *w, int32_t *ret_new);    /* all */

#endif
