#include "common/base/span.h"

#include "common/base/alloc.h"

#include <stdlib.h>
#include <string.h>

span *span_hold(span *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void span_drop(span *s)
{
    if (s && atomic_fetch_sub(&s->refs, 1) == 1)
        s->release(s);
}

bool span_is_shared(const span *s)
{
    return atomic_load(&s->refs) > 1;
}

span *span_move(span **s)
{
    span *moved = *s;
    *s = NULL;
    return moved;
}

static void free_copy(span *s)
{
    free(s);
}

span *span_copy(const void *data, size_t bytes)
{
    span *s = xmalloc(sizeof *s + bytes);
    *s = (span){.data = s + 1, .bytes = bytes, .writable = true, .refs = 1, .release = free_copy};
    if (bytes)
        memcpy(s->data, data, bytes);
    return s;
}
