/*
 * Decoders: from the texts of tokens back to a text.
 * Threads: a decoder does not change once it is loaded.
 */
#ifndef TEQUIO_TEXT_DECODE_H
#define TEQUIO_TEXT_DECODE_H

#include "common/base/json.h"
#include "text/decode_texts.h"

typedef struct decoder decoder;

/* NULL, and OK, if `value` is NULL: blanks are put between the tokens. */
MUST_USE status decoder_load(const json_t *value, const char *place, decoder **ret, error *err);
void decoder_destroy(decoder **d);

/* What becomes of `t`, which is changed, is appended to `ret`. */
MUST_USE status decoder_apply(const decoder *d, decode_texts *t, buf *ret, error *err);

#endif
