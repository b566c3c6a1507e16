/* See decode_texts.h. */
#include "text/decode_texts.h"

#include "common/base/alloc.h"

#include <stdlib.h>

const char *decode_texts_at(const decode_texts *t, size_t i, size_t *ret_bytes)
{
    size_t begin = i ? t->ends[i - 1] : 0;
    *ret_bytes = t->ends[i] - begin;
    return t->text.data ? t->text.data + begin : "";
}

void decode_texts_end(decode_texts *t)
{
    GROW(t->ends, t->cap, t->n + 1);
    t->ends[t->n++] = t->text.size;
}

void decode_texts_add(decode_texts *t, const char *text, size_t bytes)
{
    buf_add(&t->text, text, bytes);
    decode_texts_end(t);
}

void decode_texts_fini(decode_texts *t)
{
    buf_fini(&t->text);
    free(t->ends);
    *t = (decode_texts){.n = 0};
}
