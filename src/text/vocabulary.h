/*
 * A vocabulary: texts of tokens and their ids, both ways.
 * Threads: it does not change once it is filled; then any number of them look things up.
 */
#ifndef TEQUIO_TEXT_VOCABULARY_H
#define TEQUIO_TEXT_VOCABULARY_H

#include "common/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vocabulary vocabulary;

enum { VOCABULARY_NONE = -1, VOCABULARY_IDS = 1 << 24 }; /* ids are below that */

vocabulary *vocabulary_create(void);
void vocabulary_destroy(vocabulary **v);

/* A text that is there already gets the new id. An id keeps the text it has got first, unless `moves`. */
void vocabulary_add(vocabulary *v, const char *text, size_t bytes, int32_t id, bool moves);

/* The id is shown as this text from now on; found it is as before. */
void vocabulary_rename(vocabulary *v, int32_t id, const char *text, size_t bytes);

int32_t vocabulary_find(const vocabulary *v, const char *text, size_t bytes);
/* NULL: there is none of that id. */
const char *vocabulary_text(const vocabulary *v, int64_t id, size_t *ret_bytes);
/* Texts; and one more than the highest id. */
int64_t vocabulary_count(const vocabulary *v);
int64_t vocabulary_size(const vocabulary *v);

/* Of short texts; for tables of one's own too. */
static inline uint64_t vocabulary_hash(const char *text, size_t bytes)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ bytes, word;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        __builtin_memcpy(&word, text, 8);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    for (word = 0; bytes > 0; bytes--)
        word = word << 8 | (unsigned char)text[bytes - 1];
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

#endif
