#include "common/base/buf.h"

#include "common/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_fini(buf *b)
{
    free(b->data);
    *b = (buf)BUF_INIT;
}

void buf_clear(buf *b)
{
    b->size = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_reserve(buf *b, size_t more)
{
    GROW(b->data, b->cap, b->size + more + 1);
}

void buf_add(buf *b, const void *data, size_t bytes)
{
    buf_reserve(b, bytes);
    if (bytes)
        memcpy(b->data + b->size, data, bytes);
    b->size += bytes;
    b->data[b->size] = '\0';
}

void buf_adds(buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addf(buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BUG_ON(n < 0);
    buf_reserve(b, (size_t)n);
    va_start(args, format);
    vsnprintf(b->data + b->size, (size_t)n + 1, format, args);
    va_end(args);
    b->size += (size_t)n;
}

char *buf_detach(buf *b)
{
    buf_reserve(b, 0);
    b->data[b->size] = '\0';
    char *data = b->data;
    *b = (buf)BUF_INIT;
    return data;
}
