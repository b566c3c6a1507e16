/*
 * Which tokens words became, for when they come again: most words of a text are a few that do.
 * Threads: one at a time.
 */
#ifndef TEQUIO_TEXT_WORD_CACHE_H
#define TEQUIO_TEXT_WORD_CACHE_H

#include "text/model.h"

typedef struct word_cache word_cache;

enum { WORD_CACHE_BYTES = 128 }; /* longer words are not kept */

word_cache *word_cache_create(void);
void word_cache_destroy(word_cache **c);

/* As the model does it, or as it did. What is kept is of the tokenizer of that number alone. */
MUST_USE status word_cache_tokenize(word_cache *c, uint64_t serial, const model *m, model_scratch *s,
                                    const char *text, uint32_t bytes, error *err);

#endif
