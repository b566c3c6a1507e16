#include "common/parts/block.h"

#include "common/base/alloc.h"

#include <stdlib.h>

void block_pool_init(block_pool *p, size_t n)
{
    *p = (block_pool){.n = n};
}

static void unref(block *b)
{
    if (atomic_fetch_sub(&b->refs, 1) != 1)
        return;
    if (!b->is_over)
        engine_release(b->engine, b->data);
    free(b);
}

void block_pool_fini(block_pool *p)
{
    for (size_t i = 0; i < p->n_blocks; i++)
        unref(p->blocks[i]);
    free(p->blocks);
    block_pool_init(p, 0);
}

static void fold_release(fold_block *f)
{
    block_drop(f->owner);
}

static block *make(part_engine *e, float *data, size_t n)
{
    block *b = xcalloc(1, sizeof *b);
    b->engine = e;
    b->data = data;
    b->n = n;
    atomic_store(&b->refs, 1);
    b->fold =
        (fold_block){.data = data, .n = n, .writable = true, .release = fold_release, .owner = b};
    return b;
}

static status create(part_engine *e, size_t n, block **ret, error *err)
{
    float *data = NULL;
    TRY(engine_alloc(e, n, "a part's block", &data, err));
    *ret = make(e, data, n);
    return OK;
}

block *block_over(part_engine *e, float *data, size_t n)
{
    block *b = make(e, data, n);
    b->is_over = true;
    return b;
}

status block_create(size_t n, block **ret, error *err)
{
    return create(NULL, n, ret, err);
}

void block_pool_add(block_pool *p, block **b)
{
    BUG_ON((*b)->n != p->n || (*b)->engine != p->engine);
    GROW(p->blocks, p->cap, p->n_blocks + 1);
    p->blocks[p->n_blocks++] = *b;
    *b = NULL;
}

size_t block_pool_free(const block_pool *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_blocks; i++)
        n += atomic_load(&p->blocks[i]->refs) == 1;
    return n;
}

status block_pool_take(block_pool *p, block **ret, error *err)
{
    for (size_t i = 0; i < p->n_blocks; i++) {
        int free_refs = 1;
        if (atomic_compare_exchange_strong(&p->blocks[i]->refs, &free_refs, 2)) {
            *ret = p->blocks[i];
            return OK;
        }
    }
    block *b = NULL;
    TRY(create(p->engine, p->n, &b, err));
    *ret = block_hold(b);
    block_pool_add(p, &b);
    return OK;
}

static status fold_take_block(void *owner, size_t n, fold_block **ret, error *err)
{
    block_pool *p = owner;
    BUG_ON(n != p->n);
    block *b = NULL;
    TRY(block_pool_take(p, &b, err));
    *ret = &b->fold;
    return OK;
}

fold_pool block_pool_for_fold(block_pool *p)
{
    return (fold_pool){.take = fold_take_block, .owner = p, .engine = p->engine};
}

block *block_hold(block *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

bool block_is_shared(const block *b)
{
    return atomic_load(&b->refs) > 2;
}

void block_drop(block *b)
{
    if (b)
        unref(b);
}
