/*
 * buf: a growing byte string, always followed by a zero byte, for text and for binary.
 * Threads: one at a time.
 */
#ifndef TEQUIO_COMMON_BASE_BUF_H
#define TEQUIO_COMMON_BASE_BUF_H

#include "common/base/error.h"

#include <stdint.h>

typedef struct buf {
    char *data;     /* data[size] == 0 once anything was added; NULL before */
    size_t size;
    size_t cap;
} buf;

#define BUF_INIT {.data = NULL, .size = 0, .cap = 0}

void buf_fini(buf *b);                      /* back to BUF_INIT */
void buf_clear(buf *b);                     /* size 0, memory kept */
void buf_reserve(buf *b, size_t more);      /* room for `more` bytes beyond size */
void buf_add(buf *b, const void *data, size_t bytes);
void buf_adds(buf *b, const char *s);
void buf_addf(buf *b, const char *format, ...) PRINTF_LIKE(2, 3);
char *buf_detach(buf *b);                   /* the caller frees it; never NULL */

#endif
