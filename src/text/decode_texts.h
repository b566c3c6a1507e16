/* decode_texts: texts of tokens, one behind the other. Threads: one at a time. */
#ifndef TEQUIO_TEXT_DECODE_TEXTS_H
#define TEQUIO_TEXT_DECODE_TEXTS_H

#include "common/base/buf.h"

typedef struct decode_texts {
    buf text;
    size_t *ends; /* [n] */
    size_t n, cap;
    size_t most; /* bytes that the text may have as the next is begun */
} decode_texts;

void decode_texts_add(decode_texts *t, const char *text, size_t bytes);
void decode_texts_fini(decode_texts *t);

/* Text i, borrowed. */
const char *decode_texts_at(const decode_texts *t, size_t i, size_t *ret_bytes);
/* What was appended to the text since the last end is one more. */
void decode_texts_end(decode_texts *t);

#endif
