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
#ifndef TEQUIO_DATA_CHAR_TOKENS_H
#define TEQUIO_DATA_CHAR_TOKENS_H

#include "common/base/error.h"
#include "common/base/utf8.h"

#include <stdint.h>

typedef enum token_kind { TOKEN_CHARACTERS, TOKEN_BYTES } token_kind;

typedef struct char_tokens char_tokens;

/* By the name it has in a configuration: "characters", "bytes". */
token_kind token_kind_of(const char *name);

/* From the text that will be trained on; `origin` names it. */
MUST_USE status char_tokens_learn(token_kind kind, const void *text, size_t bytes, const char *origin,
                                char_tokens **ret, error *err);
/* From a vocabulary; `origin` names that. */
MUST_USE status char_tokens_load(token_kind kind, const char *vocabulary, const char *origin,
                               char_tokens **ret, error *err);
void char_tokens_destroy(char_tokens **t);

int64_t char_tokens_size(const char_tokens *t);             /* tokens are 0 .. size-1 */
const char *char_tokens_vocabulary(const char_tokens *t);   /* NULL: has none */

/* *ret[*ret_n], freed with mem_free. */
MUST_USE status char_tokens_encode(const char_tokens *t, const void *text, size_t bytes,
                                 const char *origin, uint16_t **ret, size_t *ret_n, error *err);
/* The text of one token; returns its bytes. */
size_t char_tokens_decode(const char_tokens *t, int64_t token, char ret[UTF8_MAX]);

#endif
