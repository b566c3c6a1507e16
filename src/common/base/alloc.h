/*
 * Memory. Three kinds:
 *   xmalloc and kin  tiny bookkeeping; running out aborts
 *   mem_alloc        sizes a user decides; running out is E_NOMEM. 64-byte aligned, zeroed
 *   arena            many small things with one life: a graph, a plan, a parsed config; freed whole
 *
 * Threads: the functions are safe from any thread; one arena belongs to one thread at a time.
 */
#ifndef TEQUIO_COMMON_BASE_ALLOC_H
#define TEQUIO_COMMON_BASE_ALLOC_H

#include "common/base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *xmalloc(size_t bytes);
void *xcalloc(size_t n, size_t bytes);
void *xrealloc(void *p, size_t bytes);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *format, ...) PRINTF_LIKE(1, 2);
char *xvasprintf(const char *format, va_list args) PRINTF_LIKE(1, 0);

enum { MEM_ALIGN = 64 };

/* `what` names the thing in the message. 0 bytes gives a valid pointer. Free with mem_free. */
MUST_USE status mem_alloc(size_t bytes, const char *what, void **ret, error *err);
void mem_free(void *p);

/* false on overflow, and then *ret is untouched */
static inline bool size_mul(size_t a, size_t b, size_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}
static inline bool size_add(size_t a, size_t b, size_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}
static inline size_t size_round_up(size_t x, size_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Grow `array` (any T *) so that it holds at least `need` items; `cap` is updated. */
#define GROW(array, cap, need)                                                                     \
    do {                                                                                           \
        if ((size_t)(need) > (size_t)(cap)) {                                                      \
            size_t grow_cap_ = (size_t)(cap) ? (size_t)(cap) * 2 : 8;                              \
            while (grow_cap_ < (size_t)(need))                                                     \
                grow_cap_ *= 2;                                                                    \
            (array) = xrealloc((array), grow_cap_ * sizeof *(array));                              \
            (cap) = (__typeof__(cap))grow_cap_;                                                    \
        }                                                                                          \
    } while (0)

typedef struct arena arena;

arena *arena_create(void);
void arena_destroy(arena **a); /* NULL and already destroyed are fine */

/* Zeroed, 16-byte aligned, lives as long as the arena. */
void *arena_alloc(arena *a, size_t bytes);
char *arena_strdup(arena *a, const char *s);
char *arena_strndup(arena *a, const char *s, size_t n);
char *arena_printf(arena *a, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
