/*
 * Pre-tokenizers: where a text is parted into words before the model sees them.
 * Threads: a pre-tokenizer does not change once it is loaded; what it works with belongs to one thread at a time.
 */
#ifndef TEQUIO_TEXT_PRE_TOKENIZE_H
#define TEQUIO_TEXT_PRE_TOKENIZE_H

#include "common/base/json.h"
#include "text/pattern.h"
#include "text/run.h"

typedef struct pre_tokenizer pre_tokenizer;

typedef struct words {
    run text;
    pieces pieces;
} words;

typedef struct pre_tokenize_scratch {
    words spare;
    pattern_scratch *patterns;
} pre_tokenize_scratch;

/* NULL, and OK, if `value` is NULL: nothing is parted. */
MUST_USE status pre_tokenizer_load(const json_t *value, const char *place, pre_tokenizer **ret, error *err);
void pre_tokenizer_destroy(pre_tokenizer **p);

/* Parts the open pieces of `w` further; those that are tokens stay. */
MUST_USE status pre_tokenizer_apply(const pre_tokenizer *p, pre_tokenize_scratch *s, words *w, error *err);

#endif
