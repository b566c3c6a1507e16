/*
 * Coding schemes of tags that say where spans of words begin and end:
 *
 *   IOB1    I-PER is in a span; B-PER begins one where the word before is in another of the same label
 *   BIO     B-PER begins a span, I-PER goes on with it
 *   BIOUL   B-PER begins, I-PER goes on, L-PER ends one; U-PER is one by itself
 *
 * A row of any of them can be read without knowing which: B and U begin a span, and so does what cannot go on with the
 * one before; L and U end it. O is in none.
 */
#ifndef TEQUIO_DATA_TAGGING_CODING_SCHEME_H
#define TEQUIO_DATA_TAGGING_CODING_SCHEME_H

#include "common/base/buf.h"
#include "data/words.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum coding_scheme { CODING_AS_IT_IS, CODING_IOB1, CODING_BIO, CODING_BIOUL } coding_scheme;

/* By its name; NULL: as it is. */
coding_scheme coding_scheme_of(const char *name);

typedef struct tag_text {
    const char *text;               /* not ended by a zero */
    uint32_t bytes;
} tag_text;

/* O, or one of the letters B, I, L and U, by itself or with "-" and a label. */
bool coding_scheme_knows(const tag_text *tag);

/* Appends tag `i` of a row of n known tags as it is in that scheme. */
void coding_scheme_write(coding_scheme to, const tag_text *row, size_t n, size_t i, buf *ret);

#endif
