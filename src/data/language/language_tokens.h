/*
 * What a token of a language model is, as `tokenizer` of the reader `text` says:
 *
 *   "characters", "bytes"   as char_tokens.h has them
 *   PATH                    what the tokenizer of that file or folder makes (text/tokenizer.h)
 *
 * The vocabulary of a tokenizer is its fingerprint, {"tokenizer_sha256": ...}: who reads by the job's vocabulary
 * is refused where PATH holds another tokenizer by now.
 *
 * Errors: E_DATA names the file, and the byte or the token. Threads: immutable once open.
 */
#ifndef TEQUIO_DATA_LANGUAGE_LANGUAGE_TOKENS_H
#define TEQUIO_DATA_LANGUAGE_LANGUAGE_TOKENS_H

#include "common/base/buf.h"
#include "data/index/records.h"
#include "data/language/token_array.h"

#include <stdbool.h>

typedef struct language_tokens language_tokens;

typedef struct language_options {
    const char *tokenizer;          /* NULL: "characters" */
    const char *option;             /* names it in messages; NULL: its path does */
    const char *end_of_text;        /* the token that stands behind each text; NULL: none does */
    const char *vocabulary;         /* by which to read, as language_tokens_vocabulary says it; NULL: it is made */
    const char *origin;             /* names that in messages */
} language_options;

/* Does it learn from its texts what the tokens are? */
bool language_tokens_learns(const char *kind);
/* Is it the path of a tokenizer? */
bool language_tokens_has_files(const char *kind);

/* `texts`: those from which characters are learned where no vocabulary is given. E_CONFIG: end_of_text of
 * characters or bytes. */
MUST_USE status language_tokens_open(const language_options *options, const record_source *texts, size_t n,
                                     language_tokens **ret, error *err);
void language_tokens_close(language_tokens **t);

int64_t language_tokens_size(const language_tokens *t);             /* tokens are 0 .. size-1 */
const char *language_tokens_vocabulary(const language_tokens *t);   /* NULL: has none */
bool language_tokens_is_end(const language_tokens *t, int64_t token);
/* Appends what a token looks like by itself; false: it has no text, as a byte or a token of none. */
bool language_tokens_text(const language_tokens *t, int64_t token, buf *ret);

/* Appends what decides the tokens of a text, for the name of what is kept of them. */
void language_tokens_describe(const language_tokens *t, buf *ret);

/* The tokens of all texts one behind the other, each followed by end_of_text if there is one, as they are made. */
MUST_USE status language_tokens_encode(const language_tokens *t, const record_source *texts, size_t n,
                                       token_take *take, void *user, error *err);
/* Those of the beginning of a text, which is not ended; token_array_fini. */
MUST_USE status language_tokens_begin(const language_tokens *t, const record_source *text, token_array *ret,
                                      error *err);

/* --- tokens to text, one by one --- */

/* Appends the text of tokens as far as it is certain: one that ends within a character waits for the next.
 * Threads: one at a time. */
typedef struct token_stream token_stream;

/* Behind these tokens, whose own text is not given. `t` is kept. */
token_stream *token_stream_create(const language_tokens *t, const token_array *before);
void token_stream_destroy(token_stream **s);
MUST_USE status token_stream_add(token_stream *s, int64_t token, buf *ret, error *err);
/* What is left, with U+FFFD where a character breaks off. */
MUST_USE status token_stream_end(token_stream *s, buf *ret, error *err);

#endif
