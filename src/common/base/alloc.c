#include "common/base/alloc.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From here on whole huge pages waste little, and save a page fault every 4 kB. */
enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 4 * HUGE_PAGE };

static void *check(void *p)
{
    if (!p)
        BUG("out of memory for bookkeeping");
    return p;
}

void *xmalloc(size_t bytes)
{
    return check(malloc(bytes ? bytes : 1));
}

void *xcalloc(size_t n, size_t bytes)
{
    return check(calloc(n ? n : 1, bytes ? bytes : 1));
}

void *xrealloc(void *p, size_t bytes)
{
    return check(realloc(p, bytes ? bytes : 1));
}

char *xstrdup(const char *s)
{
    return check(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
    return check(strndup(s, n));
}

char *xvasprintf(const char *format, va_list args)
{
    char *text = NULL;
    int n = vasprintf(&text, format, args);
    return check(n < 0 ? NULL : text);
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    return text;
}

status mem_alloc(size_t bytes, const char *what, void **ret, error *err)
{
    size_t rounded = 0;
    if (!size_add(bytes, MEM_ALIGN, &rounded))
        return FAIL(err, E_NOMEM, "%s: %zu bytes cannot be addressed", what, bytes);
    size_t align = bytes < HUGE_FROM ? MEM_ALIGN : HUGE_PAGE;
    rounded = size_round_up(bytes ? bytes : 1, MEM_ALIGN);
    void *p = NULL;
    if (posix_memalign(&p, align, rounded))
        return FAIL(err, E_NOMEM, "%s: cannot allocate %zu bytes", what, bytes);
    if (align == HUGE_PAGE)
        madvise(p, rounded / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* a hint; may be refused */
    memset(p, 0, rounded);
    *ret = p;
    return OK;
}

void mem_free(void *p)
{
    free(p);
}

enum { CHUNK_BYTES = 16 * 1024, ARENA_ALIGN = 16 };

typedef struct chunk {
    struct chunk *next;
    size_t used, bytes;
    alignas(ARENA_ALIGN) unsigned char data[];
} chunk;

struct arena {
    chunk *head;
};

arena *arena_create(void)
{
    return xcalloc(1, sizeof(arena));
}

void arena_destroy(arena **a)
{
    if (!a || !*a)
        return;
    for (chunk *c = (*a)->head; c;) {
        chunk *next = c->next;
        free(c);
        c = next;
    }
    free(*a);
    *a = NULL;
}

void *arena_alloc(arena *a, size_t bytes)
{
    BUG_ON(bytes > SIZE_MAX / 2);
    bytes = size_round_up(bytes ? bytes : 1, ARENA_ALIGN);
    chunk *c = a->head;
    if (!c || c->bytes - c->used < bytes) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        c = xmalloc(sizeof *c + room);
        *c = (chunk){.next = a->head, .bytes = room};
        a->head = c;
    }
    void *p = c->data + c->used;
    c->used += bytes;
    memset(p, 0, bytes);
    return p;
}

char *arena_strndup(arena *a, const char *s, size_t n)
{
    n = strnlen(s, n);
    char *copy = arena_alloc(a, n + 1);
    memcpy(copy, s, n);
    return copy;
}

char *arena_strdup(arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BUG_ON(n < 0);
    char *text = arena_alloc(a, (size_t)n + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}
