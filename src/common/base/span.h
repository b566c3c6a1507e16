/*
 * A span: refcounted memory of whoever has it, and what moves in this program. A gradient is one
 * from the lane's slab to the server's update, a part's weights are one from the server's block to
 * the worker; between them both are what the transport sends and what it received.
 *
 * `data` are `bytes` bytes, aligned for floats; where they hold float32, `floats` are span_n() of
 * them. They are on the host, or a device's where a part_store has them. The memory belongs to
 * `owner`, of whom only `release` knows anything: it is called once, by the last drop, when nobody
 * needs the memory any more, and may end the span itself.
 *
 * A holder of a span may read it. The single holder of a `writable` one may write it; all others
 * need memory of their own. A function that takes a span either borrows it for the call or says
 * that it moves in: then the caller's hold is the function's.
 *
 * Some spans last for one call only (span_for_call, of a packed message): they have no `release`,
 * are borrowed and never held, and a reader that needs the bytes for longer makes a span_copy.
 *
 * Threads: the fields are written by the maker of the span, before anybody else has it. A span is held
 * where it is held already; any thread may drop it, so `release` runs on any. What was written
 * before a drop is seen by `release`, and by a thread that finds that span_is_shared has become false.
 */
#ifndef TEQUIO_COMMON_BASE_SPAN_H
#define TEQUIO_COMMON_BASE_SPAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct span {
    union {
        void *data;
        float *floats;
    };
    size_t bytes;
    bool writable;
    atomic_int refs;
    void (*release)(struct span *s);
    void *owner; /* the releaser's */
} span;

/* The caller holds it already. Returns s. */
span *span_hold(span *s);
void span_drop(span *s); /* NULL is fine */

/* Somebody beside one holder holds it. */
bool span_is_shared(const span *s);

/* Takes the hold out of a variable, which is NULL then. */
span *span_move(span **s);

/* A span of the same bytes in memory of its own, held by the caller. */
span *span_copy(const void *data, size_t bytes);

/* A span that lasts for one call, of bytes that nobody writes. */
static inline span span_for_call(const void *data, size_t bytes)
{
    return (span){.data = (void *)(uintptr_t)data, .bytes = bytes};
}

/* Of a span that may be NULL, which has 0 bytes. */
static inline const void *span_data(const span *s)
{
    return s ? s->data : NULL;
}

static inline size_t span_bytes(const span *s)
{
    return s ? s->bytes : 0;
}

static inline size_t span_n(const span *s) /* floats */
{
    return span_bytes(s) / sizeof(float);
}

#endif
