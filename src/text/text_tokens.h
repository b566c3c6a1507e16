/*
 * text_tokens: the tokens of one text, before special tokens, windows and padding.
 * Threads: one at a time.
 */
#ifndef TEQUIO_TEXT_TEXT_TOKENS_H
#define TEQUIO_TEXT_TEXT_TOKENS_H

#include "text/load.h"
#include "text/word_cache.h"

typedef struct text_token {
    int32_t id, word;
    tokenizer_span bytes, characters;
    blanks blanks;
} text_token;

typedef struct text_tokens {
    const char *text; /* the original, borrowed for the call */
    text_token *at;
    size_t n, cap;
} text_tokens;

typedef struct text_scratch {
    run original;
    pieces found; /* in the original, at added tokens */
    words words;
    uint32_t *characters; /* [bytes + 1]: the place of each byte's character */
    size_t characters_cap;
    normalize_scratch normalize;
    pre_tokenize_scratch pre_tokenize;
    model_scratch model;
    word_cache *cache;
} text_scratch;

void text_scratch_fini(text_scratch *s);

/* E_DATA of what is no UTF-8, or too long. */
MUST_USE status text_tokens_of(const tokenizer *t, text_scratch *s, const tokenizer_input *input, text_tokens *ret,
                               error *err);

#endif
