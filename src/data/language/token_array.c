/* See token_array.h. */
#include "data/language/token_array.h"

#include "common/base/alloc.h"

#include <string.h>

enum { NARROW = 2, WIDE = 4, NARROW_SIZE = UINT16_MAX + 1 };

size_t token_width(int64_t size)
{
    return size <= NARROW_SIZE ? NARROW : WIDE;
}

status token_array_make(size_t n, size_t width, const char *what, token_array *ret, error *err)
{
    void *memory = NULL;
    size_t bytes;
    if (!size_mul(n, width, &bytes))
        return FAIL(err, E_NOMEM, "'%s': %zu tokens are more than memory", what, n);
    TRYF(mem_alloc(bytes ? bytes : 1, "the tokens of a text", &memory, err), err, "'%s'", what);
    *ret = (token_array){.at = memory, .n = n, .width = width};
    return OK;
}

void token_array_fini(token_array *a)
{
    mem_free(a->at);
    *a = (token_array){.at = NULL};
}

status token_array_add(token_array *a, const token_array *more, const char *what, error *err)
{
    token_array all;
    TRY(token_array_make(a->n + more->n, more->width, what, &all, err));
    if (a->n)
        memcpy(all.at, a->at, a->n * a->width);
    if (more->n)
        memcpy((char *)all.at + a->n * more->width, more->at, more->n * more->width);
    token_array_fini(a);
    *a = all;
    return OK;
}

void token_array_read(const token_array *a, size_t first, size_t n, int64_t *ret)
{
    const uint16_t *narrow = a->at;
    const uint32_t *wide = a->at;
    for (size_t i = 0; i < n; i++)
        ret[i] = a->width == NARROW ? narrow[first + i] : (int64_t)wide[first + i];
}

void token_array_write(token_array *a, size_t first, const int32_t *tokens, size_t n)
{
    uint16_t *narrow = a->at;
    uint32_t *wide = a->at;
    for (size_t i = 0; i < n; i++)
        if (a->width == NARROW)
            narrow[first + i] = (uint16_t)tokens[i];
        else
            wide[first + i] = (uint32_t)tokens[i];
}
