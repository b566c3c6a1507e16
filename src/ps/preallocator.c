#include "ps/preallocator.h"

#include "common/base/alloc.h"
#include "common/base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct spare {
    int32_t part;
    size_t n; /* floats */
    span *made;
} spare;

struct preallocator {
    net_waker *waker;
    bool is_ordered, runs;
    pthread_t maker;
    atomic_bool stop, is_done;
    spare *list; /* the maker's until it is done */
    size_t n, cap;
};

preallocator *preallocator_create(net_waker *waker)
{
    preallocator *s = xcalloc(1, sizeof *s);
    s->waker = waker;
    return s;
}

static void *preallocator_make(void *arg)
{
    preallocator *s = arg;
    thread_give_way();
    for (size_t i = 0; i < s->n && !atomic_load(&s->stop); i++)
        if (block_create(s->list[i].n, &s->list[i].made, NULL) != OK)
            break;
    atomic_store(&s->is_done, true);
    net_waker_wake(s->waker);
    return NULL;
}

static void join(preallocator *s)
{
    if (s->runs)
        pthread_join(s->maker, NULL);
    s->runs = false;
}

static void drop_list(preallocator *s)
{
    for (size_t i = 0; i < s->n; i++)
        span_drop(s->list[i].made);
    free(s->list);
    s->list = NULL;
    s->n = s->cap = 0;
}

void preallocator_destroy(preallocator **s)
{
    if (!s || !*s)
        return;
    atomic_store(&(*s)->stop, true);
    join(*s);
    drop_list(*s);
    free(*s);
    *s = NULL;
}

void preallocator_order(preallocator *s, const table *t, int32_t n_parts)
{
    if (s->is_ordered)
        return;
    s->is_ordered = true;
    for (int32_t p = 0; p < n_parts; p++) {
        size_t floats = 0;
        for (size_t lacking = table_lacks(t, p, &floats); lacking; lacking--) {
            GROW(s->list, s->cap, s->n + 1);
            s->list[s->n++] = (spare){.part = p, .n = floats};
        }
    }
    s->runs = thread_start(&s->maker, "preallocator", preallocator_make, s, NULL) == OK;
}

void preallocator_take(preallocator *s, table *t)
{
    if (!s->runs || !atomic_load(&s->is_done))
        return;
    join(s);
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].made)
            table_add_block(t, s->list[i].part, &s->list[i].made);
    drop_list(s);
}
