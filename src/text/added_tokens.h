/*
 * Added tokens: texts that are one token wherever they stand, such as [MASK], found before anything else is done.
 * Threads: they do not change once they are loaded.
 */
#ifndef TEQUIO_TEXT_ADDED_TOKENS_H
#define TEQUIO_TEXT_ADDED_TOKENS_H

#include "common/base/json.h"
#include "text/normalize.h"
#include "text/vocabulary.h"

typedef struct added_tokens added_tokens;

/* The array `added_tokens` of a tokenizer.json, NULL for none. Their ids must be those of `model`, as far as that
 * has them. */
MUST_USE status added_tokens_load(const json_t *list, const char *place, const vocabulary *model,
                                  const normalizer *n, added_tokens **ret, error *err);
void added_tokens_destroy(added_tokens **a);

const vocabulary *added_tokens_vocabulary(const added_tokens *a);
/* Whether a token of that id is a special one. */
bool added_tokens_is_special(const added_tokens *a, int32_t id);

/* Parts an open piece of `r` at those that are looked for in the original, or with `normalized` in what has been
 * normalized. */
void added_tokens_cut(const added_tokens *a, bool normalized, const run *r, piece of, pieces *out);

#endif
