/*
 * token_array: the tokens of a text, two bytes each where the highest is below 65536, else four.
 * Threads: immutable once filled.
 */
#ifndef TEQUIO_DATA_LANGUAGE_TOKEN_ARRAY_H
#define TEQUIO_DATA_LANGUAGE_TOKEN_ARRAY_H

#include "common/base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct token_array {
    void *at;                       /* [n] */
    size_t n, width;                /* bytes of one: 2 or 4 */
} token_array;

/* Bytes of a token of a vocabulary of that size. */
size_t token_width(int64_t size);

/* Room for n tokens; `what` names them in messages. E_NOMEM. */
MUST_USE status token_array_make(size_t n, size_t width, const char *what, token_array *ret, error *err);
void token_array_fini(token_array *a);

/* Tokens first .. first+n-1 as int64. */
void token_array_read(const token_array *a, size_t first, size_t n, int64_t *ret);
void token_array_write(token_array *a, size_t first, const int32_t *tokens, size_t n);
/* Others behind them, of the same width; `a` may be zeroed. E_NOMEM. */
MUST_USE status token_array_add(token_array *a, const token_array *more, const char *what, error *err);

/* Takes tokens that are made one array after the other; they are the caller's. */
typedef status token_take(void *user, const token_array *some, error *err);

#endif
