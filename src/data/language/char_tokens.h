/*
 * Tokenizers: from text to token numbers and back.
 *
 *   characters   a token is a character of UTF-8 text; its number is its place, in code-point order,
 *                among those that the training text holds: the vocabulary
 *   bytes        a token is a byte and its own number; no vocabulary
 *
 * A vocabulary travels as JSON text: {"tokens": ["\n", " ", ...]}.
 * Errors (E_DATA) name the text and the byte.
 * Threads: immutable once made.
 */
#ifndef TEQUIO_DATA_LANGUAGE_CHAR_TOKENS_H
#define TEQUIO_DATA_LANGUAGE_CHAR_TOKENS_H

#include "common/base/utf8.h"
#include "data/index/records.h"

typedef enum token_kind { TOKEN_CHARACTERS, TOKEN_BYTES } token_kind;

typedef struct char_tokens char_tokens;

/* From the texts that will be trained on. */
MUST_USE status char_tokens_learn(token_kind kind, const record_source *texts, size_t n, char_tokens **ret,
                                error *err);
/* From a vocabulary; `origin` names that. */
MUST_USE status char_tokens_load(token_kind kind, const char *vocabulary, const char *origin,
                               char_tokens **ret, error *err);
void char_tokens_destroy(char_tokens **t);

int64_t char_tokens_size(const char_tokens *t);             /* tokens are 0 .. size-1 */
const char *char_tokens_vocabulary(const char_tokens *t);   /* NULL: has none */

/* Into ret[text->bytes], of which *ret_n are used. */
MUST_USE status char_tokens_encode(const char_tokens *t, const record_source *text, uint16_t *ret, size_t *ret_n,
                                 error *err);
/* The text of one token; returns its bytes. */
size_t char_tokens_decode(const char_tokens *t, int64_t token, char ret[UTF8_MAX]);

#endif
