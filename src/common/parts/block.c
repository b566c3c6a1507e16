#include "common/parts/block.h"

#include "common/base/alloc.h"

#include <stdlib.h>

struct block {
    span span;
    atomic_int users;           /* its pool, and whoever holds the span: with the last of them it ends */
    part_store *store;          /* where it lies */
    bool is_over;               /* memory is somebody else's, who keeps it for longer */
};

void block_pool_init(block_pool *p, size_t n, part_store *store)
{
    *p = (block_pool){.n = n, .store = store};
}

static void leave(block *b)
{
    if (atomic_fetch_sub(&b->users, 1) != 1)
        return;
    if (!b->is_over)
        b->store->memory->release(b->store, b->span.floats);
    free(b);
}

void block_pool_fini(block_pool *p)
{
    for (size_t i = 0; i < p->n_blocks; i++)
        leave(p->blocks[i]);
    free(p->blocks);
    block_pool_init(p, 0, p->store);
}

static void release(span *s)
{
    leave(s->owner);
}

static block *block_make(part_store *store, float *data, size_t n)
{
    block *b = xcalloc(1, sizeof *b);
    b->store = store;
    b->span = (span){.floats = data,
                     .bytes = n * sizeof *data,
                     .writable = true,
                     .refs = 1,
                     .release = release,
                     .owner = b};
    atomic_store(&b->users, 1);
    return b;
}

static status create(part_store *store, size_t n, block **ret, error *err)
{
    float *data = NULL;
    TRY(store->memory->alloc(store, n, "a part's block", &data, err));
    *ret = block_make(store, data, n);
    return OK;
}

span *block_over(part_store *store, float *data, size_t n)
{
    block *b = block_make(store, data, n);
    b->is_over = true;
    return &b->span;
}

status block_create(size_t n, span **ret, error *err)
{
    block *b = NULL;
    TRY(create(part_store_host(), n, &b, err));
    *ret = &b->span;
    return OK;
}

static void add(block_pool *p, block *b)
{
    GROW(p->blocks, p->cap, p->n_blocks + 1);
    p->blocks[p->n_blocks++] = b;
}

/* The holder's place among the block's users is the pool's now. */
void block_pool_add(block_pool *p, span **b)
{
    block *added = (*b)->owner;
    BUG_ON(span_n(*b) != p->n || added->store != p->store || span_is_shared(*b));
    add(p, added);
    *b = NULL;
}

size_t block_pool_free(const block_pool *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_blocks; i++)
        n += atomic_load(&p->blocks[i]->users) == 1;
    return n;
}

status block_pool_take(block_pool *p, span **ret, error *err)
{
    for (size_t i = 0; i < p->n_blocks; i++) {
        block *b = p->blocks[i];
        int alone = 1;
        if (atomic_compare_exchange_strong(&b->users, &alone, 2)) {
            atomic_store(&b->span.refs, 1);
            *ret = &b->span;
            return OK;
        }
    }
    block *b = NULL;
    TRY(create(p->store, p->n, &b, err));
    atomic_store(&b->users, 2);
    add(p, b);
    *ret = &b->span;
    return OK;
}

static status take_for_reducer(void *owner, size_t n, span **ret, error *err)
{
    block_pool *p = owner;
    BUG_ON(n != p->n);
    return block_pool_take(p, ret, err);
}

tree_reducer_pool block_pool_for_reducer(block_pool *p)
{
    return (tree_reducer_pool){.take = take_for_reducer, .owner = p, .store = p->store};
}
